//! Where bodies will be, when they touch, and how they part.

mod arena;
mod bounce;
mod contact;
mod course;

pub(crate) use arena::{is_inside, rebound};
pub(crate) use bounce::{Bouncer, bounce};
pub use contact::time_to_contact;
pub(crate) use contact::{closest, first_contact, touched_ago};
pub use course::Course;
pub(crate) use course::{signed_secs, turned};
