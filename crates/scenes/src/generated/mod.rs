//! Scenes that are written by rule instead of by hand: `e1-columns-8` is the thesis's column experiment for
//! eight servers. One number asks for another size, where a file would have to be copied and changed.
//!
//! They are written as scene files and read like any other, so a generated scene can do nothing that a file
//! cannot, goes wherever a file goes (to a coordinator, to another server), and obeys the same limits.

mod crowd;
mod crowds;
mod e1;
mod field;
mod rest;
mod shots;
mod writer;

pub use crowd::Crowd;
pub use shots::ShotAt;

use crate::{MAX_SERVERS, Scene};
use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use thiserror::Error;

/// A scene that is written by rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// E1 of the thesis (5.1) at its published size, for so many columns.
    E1Columns(usize),
    /// E2 of the thesis (5.1): the same for so many regions that meet at corners.
    E1Corners(usize),
    /// So many stacks of five boxes, 8 m apart, in a rain of balls.
    Field(usize),
    /// So many regions with the same crowd in each.
    Weak(usize),
    /// So many bodies on a square, half of them bouncing; [`Crowd`] is the same with more to choose.
    Crowd(usize),
    /// Everything is near a border and moves.
    Worst,
    /// Everything but one body in a hundred rests.
    Rest,
    /// The world of [`Self::Rest`] with nothing at rest.
    RestAwake,
    /// A million bodies for 256 regions.
    Megaworld,
    /// Fast bodies, light and heavy, are shot into what lies on a border.
    Shots(ShotAt),
}

/// A name that begins like a generated scene's but asks for something that there is not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no scene `{name}`: {pattern} {allowed}")]
pub struct NoSuchSize {
    /// What was asked for.
    pub name: String,
    /// How such scenes are called, e.g. `e1-columns-N`.
    pub pattern: &'static str,
    /// Which numbers they take.
    pub allowed: Sizes,
}

/// The numbers that may stand at the end of a generated scene's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All from one to another.
    Range(RangeInclusive<usize>),
    /// These only.
    OneOf(&'static [usize]),
}

impl Sizes {
    fn contain(&self, number: usize) -> bool {
        match self {
            Self::Range(range) => range.contains(&number),
            Self::OneOf(numbers) => numbers.contains(&number),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => write!(f, "takes an N from {} to {}", range.start(), range.end()),
            Self::OneOf(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
                write!(f, "takes one of these as N: {}", numbers.join(", "))
            }
        }
    }
}

/// One kind of generated scene.
struct Kind {
    /// The name, with an `N` at its end where a number belongs.
    pattern: &'static str,
    about: &'static str,
    make: Make,
}

enum Make {
    One(Generated),
    Sized(Sizes, fn(usize) -> Generated),
}

const KINDS: &[Kind] = &[
    Kind {
        pattern: "e1-columns-N",
        about: "E1 of the thesis for N columns: 160 bodies/s for 60 s, half of them beside the borders",
        make: Make::Sized(Sizes::Range(1..=MAX_SERVERS), Generated::E1Columns),
    },
    Kind {
        pattern: "e1-corners-N",
        about: "E2 of the thesis for N regions that meet at corners: the same rain beside every border",
        make: Make::Sized(Sizes::OneOf(&e1::CORNERS), Generated::E1Corners),
    },
    Kind {
        pattern: "field-N",
        about: "N stacks of five boxes, 8 m apart, in a rain of balls (400/s for 10,000 stacks)",
        make: Make::Sized(Sizes::Range(1..=field::MOST_STACKS), Generated::Field),
    },
    Kind {
        pattern: "weak-N",
        about: "N regions with the same 400 bodies in each, half of them bouncing: constant work per server",
        make: Make::Sized(Sizes::Range(1..=MAX_SERVERS), Generated::Weak),
    },
    Kind {
        pattern: "crowd-N",
        about: "N bodies on a square for four regions, half of them bouncing; as dense for any N",
        make: Make::Sized(Sizes::Range(crowd::SIZES), Generated::Crowd),
    },
    Kind {
        pattern: "worst",
        about: "four regions; 1,000 bodies bounce in a trench along the borders and never leave them",
        make: Make::One(Generated::Worst),
    },
    Kind {
        pattern: "rest",
        about: "6,464 boxes on four regions, 99 in 100 of them asleep after a few seconds",
        make: Make::One(Generated::Rest),
    },
    Kind {
        pattern: "rest-awake",
        about: "the same boxes, all gliding: what `rest` is compared with",
        make: Make::One(Generated::RestAwake),
    },
    Kind {
        pattern: "megaworld",
        about: "a million boxes on 256 regions, one in ten of them gliding, in a thin rain of balls",
        make: Make::One(Generated::Megaworld),
    },
    Kind {
        pattern: "shots-layer",
        about: "light and heavy balls of 15 to 30 m/s are shot into a loose layer of balls on a border",
        make: Make::One(Generated::Shots(ShotAt::Layer)),
    },
    Kind {
        pattern: "shots-heap",
        about: "the same into loose heaps of boxes on a border",
        make: Make::One(Generated::Shots(ShotAt::Heap)),
    },
    Kind {
        pattern: "shots-figures",
        about: "the same into jointed figures that lie across a border",
        make: Make::One(Generated::Shots(ShotAt::Figures)),
    },
    Kind {
        pattern: "shots-corner",
        about: "the same into a loose layer of balls on a corner of four regions, from all sides",
        make: Make::One(Generated::Shots(ShotAt::Corner)),
    },
];

impl Kind {
    /// Is it this one? Only a number can be wrong.
    fn make(&self, name: &str) -> Option<Result<Generated, NoSuchSize>> {
        let (sizes, of) = match &self.make {
            Make::One(scene) => return (name == self.pattern).then_some(Ok(*scene)),
            Make::Sized(sizes, of) => (sizes, of),
        };
        let digits = name.strip_prefix(self.pattern.strip_suffix('N')?)?;
        let number = digits.parse().ok().filter(|number| sizes.contain(*number));
        // `+4` and `04` are numbers, but a scene has one name.
        let number = number.filter(|number| number.to_string() == digits);
        Some(number.map(of).ok_or_else(|| NoSuchSize {
            name: name.to_owned(),
            pattern: self.pattern,
            allowed: sizes.clone(),
        }))
    }
}

/// How the generated scenes are called and what each is, for people.
pub fn patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().map(|kind| (kind.pattern, kind.about))
}

impl Generated {
    /// The scene of this name. `None` if the name is none of ours; an error if only its number is wrong.
    pub fn named(name: &str) -> Option<Result<Self, NoSuchSize>> {
        KINDS.iter().find_map(|kind| kind.make(name))
    }

    /// The scene as a file.
    pub fn text(self) -> String {
        match self {
            Self::E1Columns(columns) => e1::columns(columns),
            Self::E1Corners(regions) => e1::corners(regions),
            Self::Field(stacks) => field::field(stacks),
            Self::Weak(regions) => crowds::weak(regions),
            Self::Crowd(bodies) => Crowd {
                bodies,
                ..Crowd::default()
            }
            .text(),
            Self::Worst => crowds::worst(),
            Self::Rest => rest::rest(false),
            Self::RestAwake => rest::rest(true),
            Self::Megaworld => rest::megaworld(),
            Self::Shots(target) => shots::shots(target),
        }
    }

    /// The scene.
    ///
    /// # Panics
    /// If the number is none that [`Self::named`] would have taken.
    pub fn scene(self) -> Scene {
        Scene::parse(&self.text(), None).unwrap_or_else(|wrong| panic!("{self:?}: {wrong}"))
    }
}

/// The file behind the name of a scene we ship, written by hand or by rule; `None` if it is no such name.
pub fn text_of(name: &str) -> Option<Result<Cow<'static, str>, NoSuchSize>> {
    if let Some(text) = crate::builtin::text(name) {
        return Some(Ok(Cow::Borrowed(text)));
    }
    let generated = Generated::named(name)?;
    Some(generated.map(|scene| Cow::Owned(scene.text())))
}
