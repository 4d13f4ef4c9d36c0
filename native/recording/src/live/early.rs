// SPDX-License-Identifier: Apache-2.0
//! Keeps descriptors of epochs that are not mapped yet, until a commit word confirms or denies them.

use framegate_core::pool::descriptor::Descriptor;

/// Most waiting descriptors of one stream; those beyond count as unheard.
const FRAMES_MAX: usize = 16_384;

/// A descriptor as it was heard.
pub(crate) struct EarlyFrame {
    pub(crate) descriptor: Descriptor,
    pub(crate) message: Box<[u8]>,
    pub(crate) images_lost: u64,
}

/// The early descriptors of one stream.
#[derive(Default)]
pub(crate) struct Early {
    frames: Vec<EarlyFrame>,
    /// The end of an epoch of which descriptors wait, with its final sequence.
    end: Option<(u64, Option<u64>)>,
    /// Whether some descriptors found no space since they were last taken.
    is_cut: bool,
}

impl Early {
    #[cold]
    pub(crate) fn note_frame(&mut self, descriptor: &Descriptor, message: &[u8], images_lost: u64) {
        if self.frames.len() < FRAMES_MAX {
            self.frames.push(EarlyFrame { descriptor: *descriptor, message: message.into(), images_lost });
        } else {
            self.is_cut = true;
        }
    }

    /// Notes the end of an epoch; false if no descriptor of it waits.
    pub(crate) fn note_end(&mut self, epoch: u64, after: Option<u64>) -> bool {
        let has_frames = self.frames.iter().any(|frame| frame.descriptor.epoch == epoch);
        if has_frames {
            self.end = Some((epoch, after));
        }
        has_frames
    }

    /// Whether an end waits behind its descriptors.
    pub(crate) const fn has_end(&self) -> bool {
        self.end.is_some()
    }

    /// Takes all waiting descriptors in the order in which they came, and whether some found no space.
    pub(crate) fn take_frames(&mut self) -> (Vec<EarlyFrame>, bool) {
        (std::mem::take(&mut self.frames), std::mem::take(&mut self.is_cut))
    }

    /// Takes the end that waits, if it is of this epoch or an earlier one.
    pub(crate) fn take_end(&mut self, newest: u64) -> Option<(u64, Option<u64>)> {
        self.end.take_if(|(epoch, _)| *epoch <= newest)
    }
}
