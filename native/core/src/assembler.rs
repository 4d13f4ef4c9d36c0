// SPDX-License-Identifier: Apache-2.0
//! Assembles whole messages from the fragments of a stream.
//!
//! A message that is longer than the channel's payload size travels as several fragments. They are in order within
//! their session, the first is flagged BEGIN, the last END. Fragments of different sessions interleave. Aeron's own
//! assembler is not used, because it cannot be moved between threads and has no bound on its memory.

use std::collections::HashMap;

/// The flag of the first fragment of a message.
pub const BEGIN: u8 = 0x80;
/// The flag of the last fragment of a message.
pub const END: u8 = 0x40;
/// The flags of a message that is one fragment.
pub const WHOLE: u8 = BEGIN | END;

/// Assembles the messages of each session, up to a bound on their length.
#[derive(Debug)]
pub struct Assembler {
    max_message_bytes: usize,
    partial: HashMap<i32, Vec<u8>>,
    abandoned: u64,
}

impl Assembler {
    /// Makes an assembler. It abandons and counts messages that are longer than `max_message_bytes`.
    #[must_use]
    pub fn new(max_message_bytes: usize) -> Self {
        Self { max_message_bytes, partial: HashMap::new(), abandoned: 0 }
    }

    /// Takes one fragment, and calls `deliver` with the message when it is complete. A message of one fragment is not
    /// copied.
    pub fn on_fragment(&mut self, session_id: i32, flags: u8, fragment: &[u8], deliver: impl FnOnce(&[u8])) {
        if flags & WHOLE == WHOLE {
            return deliver(fragment);
        }
        if flags & BEGIN != 0 {
            self.begin(session_id, fragment);
        } else if self.append(session_id, fragment)
            && flags & END != 0
            && let Some(message) = self.partial.remove(&session_id)
        {
            deliver(&message);
        }
    }

    fn begin(&mut self, session_id: i32, fragment: &[u8]) {
        if self.partial.insert(session_id, fragment.to_vec()).is_some() {
            self.abandoned += 1;
        }
    }

    /// Returns false if there is nothing to append to: the image was joined in the middle of a message, or the message
    /// was abandoned.
    fn append(&mut self, session_id: i32, fragment: &[u8]) -> bool {
        let Some(message) = self.partial.get_mut(&session_id) else {
            return false;
        };
        if message.len() + fragment.len() > self.max_message_bytes {
            self.partial.remove(&session_id);
            self.abandoned += 1;
            return false;
        }
        message.extend_from_slice(fragment);
        true
    }

    /// Forgets a session that is gone: its unfinished message will never be complete.
    pub fn forget(&mut self, session_id: i32) {
        if self.partial.remove(&session_id).is_some() {
            self.abandoned += 1;
        }
    }

    /// How many messages were begun and never delivered.
    #[must_use]
    pub const fn abandoned(&self) -> u64 {
        self.abandoned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(assembler: &mut Assembler, fragments: &[(i32, u8, &[u8])]) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for (session_id, flags, fragment) in fragments {
            assembler.on_fragment(*session_id, *flags, fragment, |message| messages.push(message.to_vec()));
        }
        messages
    }

    #[test]
    fn fragments_of_two_sessions_interleave_without_mixing() {
        let mut assembler = Assembler::new(100);
        let messages = feed(
            &mut assembler,
            &[(1, BEGIN, b"a1"), (2, BEGIN, b"b1"), (1, 0, b"a2"), (2, END, b"b2"), (1, END, b"a3"), (3, WHOLE, b"c")],
        );
        assert_eq!(messages, [b"b1b2".to_vec(), b"a1a2a3".to_vec(), b"c".to_vec()]);
        assert_eq!(assembler.abandoned(), 0);
    }

    #[test]
    fn a_message_joined_in_its_middle_is_not_delivered() {
        assert!(feed(&mut Assembler::new(100), &[(1, 0, b"x"), (1, END, b"y")]).is_empty());
    }

    #[test]
    fn a_message_above_the_bound_is_abandoned_and_counted_and_the_next_one_arrives() {
        let mut assembler = Assembler::new(3);
        let messages =
            feed(&mut assembler, &[(1, BEGIN, b"ab"), (1, 0, b"cd"), (1, END, b"e"), (1, BEGIN, b"x"), (1, END, b"y")]);
        assert_eq!(messages, [b"xy".to_vec()]);
        assert_eq!(assembler.abandoned(), 1);
    }

    #[test]
    fn a_lost_session_or_a_new_begin_abandons_what_was_begun() {
        let mut assembler = Assembler::new(100);
        feed(&mut assembler, &[(1, BEGIN, b"a"), (1, BEGIN, b"b")]);
        assembler.forget(1);
        assembler.forget(1);
        assert_eq!(assembler.abandoned(), 2);
    }
}
