// SPDX-License-Identifier: Apache-2.0
//! A producer's descriptor streams, as carriers of the barriers, watermarks and signals between the frames.

use framegate_checkpoint::between::{Claim, DescriptorStream, Refusal};

use crate::aeron::{ADMIN_ACTION, BACK_PRESSURED, ClaimedRoom, NOT_CONNECTED, PublicationShared};

impl DescriptorStream for PublicationShared {
    type Claim<'a> = ClaimedRoom<'a>;

    fn claim(&self, bytes: usize) -> Result<ClaimedRoom<'_>, Refusal> {
        self.claim_room(bytes).map_err(|answer| match answer {
            BACK_PRESSURED | ADMIN_ACTION => Refusal::Full,
            NOT_CONNECTED => Refusal::Unheard,
            _ => Refusal::Closed,
        })
    }
}

impl Claim for ClaimedRoom<'_> {
    fn send(self, message: &[u8]) {
        ClaimedRoom::send(self, message);
    }
}
