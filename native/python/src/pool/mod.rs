// SPDX-License-Identifier: Apache-2.0
//! The shared-memory pool as Python classes: regions, a producer, a consumer, frames.

mod array_view;
mod batch;
mod between;
mod consumer;
mod frame;
mod frame_claim;
mod producer;
mod regions;
mod republish;

pub use batch::FrameBatch;
pub use consumer::PoolConsumer;
pub use frame::Frame;
pub use frame_claim::FrameClaim;
pub use producer::PoolProducer;
pub(crate) use producer::{Load, PublishFault};
pub use regions::{PoolRegions, region_mark};
pub(crate) use republish::{PublishTarget, Republished};
