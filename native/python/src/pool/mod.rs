// SPDX-License-Identifier: Apache-2.0
//! The shared-memory pool as Python classes: regions, a producer, a consumer, frames.

mod array_view;
mod batch;
mod between;
mod branch;
mod consumer;
mod frame;
mod frame_claim;
mod load;
mod pace;
mod producer;
mod publishing;
mod refusal;
mod regions;
mod republish;
mod stamps;

pub use batch::FrameBatch;
pub use consumer::PoolConsumer;
pub use frame::Frame;
pub use frame_claim::FrameClaim;
pub(crate) use load::Load;
pub use producer::PoolProducer;
pub(crate) use publishing::PublishFault;
pub use regions::{PoolRegions, region_mark};
pub(crate) use republish::PublishTarget;
