//! A binary arithmetic coder: each bit costs what its probability says, be it a hundredth of a bit.
//!
//! The bits of a packet divide an interval again and again, each time in proportion to how likely a 1 is there; the
//! packet is the shortest number inside the last interval. Only 32-bit integers take part, so every platform, a browser
//! too, reads the same bits.
//!
//! ```text
//!   low          middle = low + (high − low)·p/2¹⁶              high
//!   ├────────── 1 ──────────┤├──────────── 0 ───────────────────┤
//! ```
//!
//! A probability moves towards what it has just seen by 1/2⁵ of the way, within its packet only: every packet begins with
//! the same, trained ones ([`super::tables`]), so that a lost packet harms no other.

/// A chance of 1 in 2¹⁶; never 0 and never 2¹⁶.
pub(crate) type Chance = u16;

/// An even chance.
pub(crate) const EVEN: Chance = 1 << 15;
/// How fast chances learn within a packet.
const LEARNING_SHIFT: u32 = 5;

/// What both directions do with a bit. The writer is told it and passes it on; the reader finds it and ignores what it is
/// told. So one description of a format serves both.
pub(crate) trait BitCoder {
    /// One bit whose chance of being 1 is given, and learns.
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool;

    /// The information written so far, in 1/256 bit; a reader does not count.
    fn cost(&self) -> u64 {
        0
    }
}

fn middle(low: u32, high: u32, chance: Chance) -> u32 {
    let width = high - low;
    let chance = u32::from(chance);
    low + (width >> 16) * chance + (((width & 0xffff) * chance) >> 16)
}

fn learn(chance: &mut Chance, bit: bool) {
    if bit {
        *chance += (u16::MAX - *chance) >> LEARNING_SHIFT;
    } else {
        *chance -= *chance >> LEARNING_SHIFT;
    }
    *chance = (*chance).max(1);
}

/// Writes bits.
#[derive(Clone, Debug)]
pub(crate) struct RangeWriter {
    low: u32,
    high: u32,
    bytes: Vec<u8>,
    /// What has been written so far, in 1/256 bit.
    cost: u64,
}

impl RangeWriter {
    /// Appends to bytes that are there already.
    pub(crate) fn after(bytes: Vec<u8>) -> Self {
        Self {
            low: 0,
            high: u32::MAX,
            bytes,
            cost: 0,
        }
    }

    /// How many bytes there would be at most if it ended here.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + 4
    }

    /// The shortest number in the interval; the reader takes what is missing for zeros.
    pub(crate) fn finish(mut self, start: usize) -> Vec<u8> {
        if self.low > 0 {
            let short = (self.low >> 24) + 1;
            if short << 24 <= self.high && short < 256 {
                self.bytes.push(short as u8);
            } else {
                self.bytes.extend(self.high.to_be_bytes());
            }
        }
        while self.bytes.len() > start && self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }
}

impl BitCoder for RangeWriter {
    fn cost(&self) -> u64 {
        self.cost
    }

    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool {
        let middle = middle(self.low, self.high, *chance);
        if bit {
            self.high = middle;
        } else {
            self.low = middle + 1;
        }
        let of_this = if bit {
            u32::from(*chance)
        } else {
            (1 << 16) - u32::from(*chance)
        };
        self.cost += cost_of(of_this);
        learn(chance, bit);
        while (self.low ^ self.high) >> 24 == 0 {
            self.bytes.push((self.high >> 24) as u8);
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
        }
        bit
    }
}

/// −log₂(chance / 2¹⁶) in 1/256 bit: the position of the leading bit, and between powers of two a parabola that is right
/// to 1/100 bit.
fn cost_of(chance: u32) -> u64 {
    let whole = 31 - chance.leading_zeros();
    let part = (chance << (31 - whole)) >> 23 & 0xff;
    let log = part + ((part * (256 - part) * 88) >> 16);
    u64::from((16 - whole) * 256 - log)
}

/// Reads bits of unknown origin; it never fails, it only finds nonsense.
#[derive(Clone, Debug)]
pub(crate) struct RangeReader<'a> {
    low: u32,
    high: u32,
    value: u32,
    bytes: &'a [u8],
}

impl<'a> RangeReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut reader = Self {
            low: 0,
            high: u32::MAX,
            value: 0,
            bytes,
        };
        for _ in 0..4 {
            reader.value = reader.value << 8 | reader.next_byte();
        }
        reader
    }

    fn next_byte(&mut self) -> u32 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                u32::from(*first)
            }
            None => 0,
        }
    }
}

impl BitCoder for RangeReader<'_> {
    fn bit(&mut self, chance: &mut Chance, _: bool) -> bool {
        let middle = middle(self.low, self.high, *chance);
        let bit = self.value <= middle;
        if bit {
            self.high = middle;
        } else {
            self.low = middle + 1;
        }
        learn(chance, bit);
        while (self.low ^ self.high) >> 24 == 0 {
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            self.value = self.value << 8 | self.next_byte();
        }
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(bits: &[(u16, bool)]) -> Vec<u8> {
        let mut writer = RangeWriter::after(Vec::new());
        for (chance, bit) in bits {
            writer.bit(&mut (*chance).max(1), *bit);
        }
        writer.finish(0)
    }

    #[test]
    fn likely_bits_cost_little() {
        let likely = vec![(65_000, true); 1000];
        assert!(written(&likely).len() <= 2, "{}", written(&likely).len());
        let even: Vec<_> = (0..1000).map(|i| (EVEN, i * i % 7 < 3)).collect();
        assert!((125..=127).contains(&written(&even).len()));
    }

    #[test]
    fn the_cost_is_the_number_of_bits_written() {
        let mut writer = RangeWriter::after(Vec::new());
        for i in 0..10_000_u32 {
            writer.bit(&mut 6_000, i % 11 == 0);
        }
        let counted = writer.cost() as f64 / 256.0 / 8.0;
        let real = writer.finish(0).len() as f64;
        assert!((counted / real - 1.0).abs() < 0.05, "{counted} {real}");
    }

    proptest! {
        #[test]
        fn everything_comes_back(bits in prop::collection::vec((1_u16.., any::<bool>()), 0..2000)) {
            let bytes = written(&bits);
            let mut reader = RangeReader::new(&bytes);
            for (chance, bit) in bits {
                prop_assert_eq!(reader.bit(&mut { chance }, false), bit);
            }
        }
    }
}
