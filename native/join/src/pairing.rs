// SPDX-License-Identifier: Apache-2.0
//! Pairs outputs one to one with the nearest frames: which frame the first waiting output takes, and whether a later
//! frame can change that.
//!
//! `x` are the times that outputs ask for, `y` the times of an input's frames; both rise. The best pairing has the most
//! pairs and, among those, the smallest sum of distances. On a line, one of the best pairings has no crossings, so it
//! is an alignment of two sequences: a table of the best pairing of the first i outputs with the first j frames.
//! Between equally good pairings, the newer frame stays out, and then the newer output.
//!
//! At most `outputs_max` outputs compete. What the first one takes is its partner in the best pairing of that many
//! outputs with all frames, in whatever order they came. So an output never needs a frame further away than that many
//! on either side, and the table has at most 64 rows of 129 cells, of which two rows are kept.
//!
//! `spec/join/pairing.py` is the twin in plain Python.

/// Most outputs that compete.
pub const OUTPUTS_MAX: usize = 64;
/// Infinity. As a reach: any distance. As a horizon: nothing more comes; negated: anything may still come.
pub const FAR: i128 = 1 << 100;

const RING: usize = 256;
const NO_FRAME: u64 = u64::MAX;

/// What `first_choice` is asked. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// How far a frame may lie before the time that an output asks for.
    pub behind: i128,
    /// How far a frame may lie after that time.
    pub ahead: i128,
    /// No later output asks for an earlier time than this.
    pub x_horizon: i128,
    /// No later frame has an earlier time than this.
    pub y_horizon: i128,
    /// Most outputs that compete, at most [`OUTPUTS_MAX`].
    pub outputs_max: usize,
    /// Whether to choose now from the frames that are here.
    pub is_forced: bool,
}

/// What the first output takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The frame's number, as the caller counts frames.
    pub partner: Option<u64>,
    /// Whether a later frame or output might have changed the choice.
    pub is_early: bool,
}

/// The best pairing of the first outputs with the first frames, and the frame of the first output in it.
#[derive(Clone, Copy, Debug)]
struct Cell {
    pairs: u32,
    first: u64,
    distance: i128,
}

const NOTHING: Cell = Cell { pairs: 0, first: NO_FRAME, distance: 0 };

impl Cell {
    fn is_better_than(&self, other: &Self) -> bool {
        (self.pairs, other.distance) > (other.pairs, self.distance)
    }

    /// This pairing with one pair more.
    fn and(&self, distance: i128) -> Self {
        Self { pairs: self.pairs + 1, distance: self.distance + distance, ..*self }
    }
}

/// The frames that one row's output may take: those from `low` up to `high`. Those before `passed` are older than its
/// time.
#[derive(Clone, Copy, Debug, Default)]
struct Band {
    low: usize,
    passed: usize,
    high: usize,
}

/// Two rows of the table and what they were made from. It allocates nothing after it was made.
#[derive(Debug)]
pub struct Pairing {
    rows: Box<[[Cell; RING]; 2]>,
    /// The best pairing of each number of outputs with all frames.
    whole: Box<[Cell; OUTPUTS_MAX + 1]>,
    xs: Box<[i128; OUTPUTS_MAX + 1]>,
    /// Numbers and times of the most recently read frames.
    ys: Box<[(u64, i128); RING]>,
    read: usize,
    cells: u64,
}

impl Default for Pairing {
    fn default() -> Self {
        Self {
            rows: Box::new([[NOTHING; RING]; 2]),
            whole: Box::new([NOTHING; OUTPUTS_MAX + 1]),
            xs: Box::new([0; OUTPUTS_MAX + 1]),
            ys: Box::new([(NO_FRAME, 0); RING]),
            read: 0,
            cells: 0,
        }
    }
}

impl Pairing {
    /// What the first of `xs` takes from `ys`. None if nothing is asked for, or if something later could change the
    /// choice.
    pub fn first_choice(
        &mut self,
        asked: &Question,
        xs: impl IntoIterator<Item = i128>,
        ys: impl IntoIterator<Item = (u64, i128)>,
    ) -> Option<Choice> {
        let (mut xs, mut ys) = (xs.into_iter(), ys.into_iter());
        let outputs_max = asked.outputs_max.clamp(1, OUTPUTS_MAX);
        (self.read, self.whole[0], self.rows[0][0]) = (0, NOTHING, NOTHING);
        let mut band = Band::default();
        let (mut x, mut count) = (xs.next()?, 0);
        loop {
            self.xs[count] = x;
            count += 1;
            band = self.fill(asked, count, band, outputs_max, &mut ys);
            let next_x = xs.next();
            let whole = self.whole[count];
            let arriving = match self.frame(band.high, &mut ys) {
                _ if band.high == band.passed + outputs_max => FAR,
                Some((_, time)) => time,
                None => asked.y_horizon,
            };
            if !self.may_outputs_change(asked, count, arriving) {
                let following = next_x.unwrap_or(asked.x_horizon);
                let change = self.most_frames_that_change(asked, count, &band, following);
                let is_last = count == outputs_max;
                // Later outputs can take at most as many of the frames before the output's time as there may be
                // outputs.
                if is_last || change.is_none_or(|frames| frames + (outputs_max - count) < band.passed) {
                    return Some(choice(&whole, is_last && change.is_some()));
                }
            }
            match next_x.filter(|_| count < outputs_max) {
                Some(next) => x = next,
                None => return asked.is_forced.then(|| choice(&whole, true)),
            }
        }
    }

    /// How many cells were computed since the start.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.cells
    }

    /// The frame at this index, read from `ys` if needed.
    fn frame(&mut self, at: usize, ys: &mut impl Iterator<Item = (u64, i128)>) -> Option<(u64, i128)> {
        while self.read <= at {
            self.ys[self.read % RING] = ys.next()?;
            self.read += 1;
        }
        Some(self.ys[at % RING])
    }

    /// Computes the row of one more output.
    fn fill(
        &mut self,
        asked: &Question,
        count: usize,
        before: Band,
        side_max: usize,
        ys: &mut impl Iterator<Item = (u64, i128)>,
    ) -> Band {
        let x = self.xs[count - 1];
        let mut band = before;
        while self.frame(band.passed, ys).is_some_and(|(_, y)| y < x) {
            band.passed += 1;
        }
        band.low = band.low.max(band.passed.saturating_sub(side_max));
        while band.low < band.passed && self.ys[band.low % RING].1 < x - asked.behind {
            band.low += 1;
        }
        band.high = band.high.max(band.passed);
        while band.high < band.passed + side_max && self.frame(band.high, ys).is_some_and(|(_, y)| y <= x + asked.ahead)
        {
            band.high += 1;
        }
        let [even, odd] = &mut *self.rows;
        let (above, row) = if count.is_multiple_of(2) { (odd, even) } else { (even, odd) };
        let mut best = above[band.low.min(before.high) % RING];
        row[band.low % RING] = best;
        for at in band.low..band.high {
            let (number, y) = self.ys[at % RING];
            let shorter = &above[at.min(before.high) % RING];
            let paired = shorter.and((x - y).abs());
            let paired = if count == 1 { Cell { first: number, ..paired } } else { paired };
            for other in [&above[(at + 1).min(before.high) % RING], &paired] {
                if other.is_better_than(&best) {
                    best = *other;
                }
            }
            row[(at + 1) % RING] = best;
        }
        self.whole[count] = best;
        self.cells += (band.high - band.low + 1) as u64;
        band
    }

    /// Whether later frames that take some of the newest outputs change the choice. They do only if those outputs, each
    /// with the nearest frame that can come, make a better pairing than fewer of them.
    fn may_outputs_change(&self, asked: &Question, count: usize, arriving: i128) -> bool {
        let first = self.whole[count].first;
        let (mut best, mut kept) = (self.whole[count], NOTHING);
        for at in (0..count).rev() {
            if arriving == FAR || self.xs[at] < arriving - asked.ahead {
                return false;
            }
            kept = kept.and((arriving - self.xs[at]).max(0));
            let (own, hoped) = (&self.whole[at], with(&self.whole[at], &kept));
            if hoped.is_better_than(&best) {
                if at == 0 || own.first != first {
                    return true;
                }
                best = hoped;
            }
        }
        false
    }

    /// Whether later outputs that take some of the newest frames change the choice. Returns the most frames that are
    /// left if they do.
    fn most_frames_that_change(&self, asked: &Question, count: usize, band: &Band, following: i128) -> Option<usize> {
        let row = &self.rows[count % 2];
        let first = self.whole[count].first;
        let (mut best, mut kept) = (self.whole[count], NOTHING);
        for at in (band.low..band.high).rev() {
            let y = self.ys[at % RING].1;
            if following == FAR || y < following - asked.behind {
                return None;
            }
            kept = kept.and((following - y).max(0));
            let (own, hoped) = (&row[at % RING], with(&row[at % RING], &kept));
            if hoped.is_better_than(&best) {
                if own.first != first {
                    return Some(at);
                }
                best = hoped;
            }
        }
        None
    }
}

fn with(own: &Cell, kept: &Cell) -> Cell {
    Cell { pairs: own.pairs + kept.pairs, distance: own.distance + kept.distance, first: own.first }
}

fn choice(cell: &Cell, is_early: bool) -> Choice {
    Choice { partner: (cell.first != NO_FRAME).then_some(cell.first), is_early }
}
