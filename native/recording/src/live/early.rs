// SPDX-License-Identifier: Apache-2.0
//! Descriptors of epochs whose regions are not mapped yet: they wait until a commit word says whether they are true.

use framegate_core::pool::descriptor::Descriptor;

/// Descriptors of one stream that wait; those that come beyond are counted as unheard.
const FRAMES_MAX: usize = 16_384;

/// A descriptor as it was heard.
pub(crate) struct EarlyFrame {
    pub(crate) descriptor: Descriptor,
    pub(crate) message: Box<[u8]>,
    pub(crate) images_lost: u64,
}

/// Of one stream.
#[derive(Default)]
pub(crate) struct Early {
    frames: Vec<EarlyFrame>,
    /// An epoch of which frames wait is over: its last sequence.
    end: Option<(u64, Option<u64>)>,
    /// Whether some found no room since they were taken last.
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

    /// Notes the end of an epoch of which frames wait; whether some do.
    pub(crate) fn note_end(&mut self, epoch: u64, after: Option<u64>) -> bool {
        let has_frames = self.frames.iter().any(|frame| frame.descriptor.epoch == epoch);
        if has_frames {
            self.end = Some((epoch, after));
        }
        has_frames
    }

    /// Whether an end waits behind its frames.
    pub(crate) const fn has_end(&self) -> bool {
        self.end.is_some()
    }

    /// Takes every frame, in the order in which they came, and whether some found no room.
    pub(crate) fn take_frames(&mut self) -> (Vec<EarlyFrame>, bool) {
        (std::mem::take(&mut self.frames), std::mem::take(&mut self.is_cut))
    }

    /// Takes the end of an epoch up to that one.
    pub(crate) fn take_end(&mut self, newest: u64) -> Option<(u64, Option<u64>)> {
        self.end.take_if(|(epoch, _)| *epoch <= newest)
    }
}
