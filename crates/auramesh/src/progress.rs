//! A bar on a terminal's stderr while something runs; silence everywhere else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};

const PARTS: u64 = 1000;

/// The bar. Gone when dropped.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar at its start.
    pub fn new(what: &str) -> Self {
        let target = match stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent:>3} %  {eta} left")
            .expect("the template is well-formed")
            .progress_chars("=> ");
        Self {
            bar: bar.with_style(style).with_message(what.to_owned()),
        }
    }

    /// Moves it to this share of the whole, 0 to 1.
    pub fn set(&self, share: f64) {
        self.bar
            .set_position((share.clamp(0.0, 1.0) * PARTS as f64) as u64);
    }

    /// Prints a line on stderr above the bar.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
