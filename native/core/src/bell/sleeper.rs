// SPDX-License-Identifier: Apache-2.0
//! The sleeper: one waiting thread, with its bell and a seat at every stream that it waits for.

use std::sync::Arc;

use super::bells::{Bell, Waker};
use super::futex::Woken;
use super::order;
use super::stream::StreamBells;
use crate::idle::Idler;

/// The longest sleep. It bounds the delay of a frame whose writer was killed before it could ring.
pub const LONGEST_SLEEP_NS: u64 = 100_000_000;
/// The longest sleep of a thread that also receives messages for others, which must read past them before their log is
/// full. A million messages a second fill less than a fifth of a window of the default size in that time.
const BESIDE_OTHERS_NS: u64 = 4_000_000;

/// What a turn found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Something for the caller.
    Found,
    /// Only messages for others.
    Others,
    /// Nothing.
    Nothing,
}

#[derive(Debug)]
struct Seat {
    stream: Arc<StreamBells>,
    epoch: u64,
    seat: u32,
}

/// A thread that waits for some streams.
#[derive(Debug, Default)]
pub struct Sleeper {
    bell: Option<Bell>,
    seats: Vec<Seat>,
    /// Whether it has a seat at each stream that it waits for.
    is_seated: bool,
}

impl Sleeper {
    /// Waits for these streams from now on, each in its epoch. None stands for a stream without bells.
    pub fn wait_for(&mut self, streams: impl IntoIterator<Item = Option<(Arc<StreamBells>, u64)>>) {
        self.leave();
        self.is_seated = true;
        for each in streams {
            let seated = each.and_then(|(stream, epoch)| self.sit(stream, epoch));
            self.is_seated &= seated.map(|seat| self.seats.push(seat)).is_some();
        }
        self.is_seated &= !self.seats.is_empty();
    }

    fn sit(&mut self, stream: Arc<StreamBells>, epoch: u64) -> Option<Seat> {
        if !self.bell.as_ref().is_some_and(|bell| bell.is_of(stream.bells())) && self.seats.is_empty() {
            self.bell = Bell::claim(stream.bells());
        }
        // Streams of two namespaces share no bell.
        let bell = self.bell.as_ref().filter(|bell| bell.is_of(stream.bells()))?;
        let seat = stream.sit(bell.number())?;
        Some(Seat { stream, epoch, seat })
    }

    fn leave(&mut self) {
        for each in self.seats.drain(..) {
            if let Some(bell) = self.bell.as_ref().filter(|bell| bell.is_own()) {
                each.stream.stand_up(each.seat, bell.number());
            }
        }
        self.is_seated = false;
    }

    /// The waker, by which other threads of this process wake this one; None if it has no bell.
    #[must_use]
    pub fn waker(&self) -> Option<Waker> {
        self.bell.as_ref().map(Bell::waker)
    }

    /// Whether every writer that it waits for would wake it.
    #[must_use]
    pub fn can_sleep(&self) -> bool {
        self.is_seated
            && self.bell.as_ref().is_some_and(|bell| {
                self.seats
                    .iter()
                    .all(|each| each.stream.is_rung(each.epoch) && each.stream.sits(each.seat, bell.number()))
            })
    }

    /// Says that it sleeps, looks once more, and sleeps if there was nothing.
    fn sleep(&self, most_ns: impl FnOnce(Look) -> u64, look: impl FnOnce() -> Look) -> Woken {
        let Some(bell) = &self.bell else { return Woken::Late };
        let seen = bell.hear();
        self.seats.iter().for_each(|each| each.stream.lie_down(each.seat));
        order::look_again();
        let woken = match look() {
            Look::Found => Woken::Rung,
            other => bell.sleep(seen, most_ns(other)),
        };
        self.seats.iter().for_each(|each| each.stream.get_up(each.seat));
        woken
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Idles once, after a turn that gave `before`. Sleeps, and returns how the sleep ended, if the strategy is to sleep
/// and every writer would ring. Otherwise idles by the strategy, and returns None. `look` checks whether something came
/// meanwhile.
pub fn idle_or_sleep(
    idler: &mut Idler,
    sleeper: &Sleeper,
    most_ns: u64,
    before: Look,
    look: impl FnOnce() -> Look,
) -> Option<Woken> {
    if !(idler.would_sleep() && sleeper.can_sleep()) {
        idler.idle();
        return None;
    }
    let bound = |now| if before == Look::Others || now == Look::Others { BESIDE_OTHERS_NS } else { LONGEST_SLEEP_NS };
    Some(sleeper.sleep(|now| most_ns.min(bound(now)), look))
}
