// SPDX-License-Identifier: Apache-2.0
//! The parts of a checkpoint as Python classes. `joinbarrier/checkpoint` has checked the arguments that they get.

mod aligner;
mod channel;
mod inflight;
mod ingress;
mod injector;
mod plain;
mod signals;
mod unaligned;

pub use aligner::BarrierAligner;
pub use channel::CheckpointChannel;
pub use inflight::{checkpoint_read_records, checkpoint_write_records};
pub use ingress::IngressGate;
pub(crate) use ingress::cut_name;
pub use injector::{BarrierInjector, CommandWord};
pub use signals::{InputSignals, SignalCounter};
pub use unaligned::UnalignedCheckpointer;
