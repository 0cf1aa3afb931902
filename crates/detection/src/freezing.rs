//! Bodies that hardly move are frozen (thesis 4.3.2.3): not stepped and not compared with each other, until something awake
//! touches them.

/// From when on a body counts as still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Freezing {
    /// m/s (default 0.05).
    pub linear: f32,
    /// rad/s (default 0.1).
    pub angular: f32,
    /// Both for so long, seconds (default 0.5).
    pub after_secs: f32,
}

impl Default for Freezing {
    fn default() -> Self {
        Self {
            linear: 0.05,
            angular: 0.1,
            after_secs: 0.5,
        }
    }
}

impl Freezing {
    /// Does a body of these speeds count as still?
    #[inline]
    pub fn is_still(&self, linear_squared: f32, angular_squared: f32) -> bool {
        linear_squared < self.linear * self.linear && angular_squared < self.angular * self.angular
    }
}
