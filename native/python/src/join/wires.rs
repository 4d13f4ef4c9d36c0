// SPDX-License-Identifier: Apache-2.0
//! The engine on Aeron: descriptors come from subscriptions, and a producer publishes again.

use framegate_engine::Wires;

use crate::aeron::SubscriptionShared;
use crate::pool::PublishTarget;

/// What a join is connected to when Python runs it.
pub(super) struct AeronWires;

impl Wires for AeronWires {
    type Descriptors = SubscriptionShared;
    type Target = PublishTarget;
}

pub(super) type Engine = framegate_engine::Engine<AeronWires>;
