// SPDX-License-Identifier: Apache-2.0
//! The engine's connections to Aeron: it reads descriptors from subscriptions and republishes through a producer.

use framegate_engine::Wires;

use crate::aeron::SubscriptionShared;
use crate::pool::PublishTarget;

/// The connections of a join that Python runs.
pub(super) struct AeronWires;

impl Wires for AeronWires {
    type Descriptors = SubscriptionShared;
    type Target = PublishTarget;
}

pub(super) type Engine = framegate_engine::Engine<AeronWires>;
