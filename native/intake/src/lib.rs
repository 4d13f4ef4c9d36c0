// SPDX-License-Identifier: Apache-2.0
//! How an engine hears streams: what a join and a recorder have in common.
//!
//! | file | what it is |
//! |---|---|
//! | `descriptors` | where messages come from: a subscription, or whatever stands in for one |
//! | `mailbox` | what another thread asks of an engine, and what it may know of it |
//! | `mapping` | the ring of one epoch, mapped |
//! | `facts` | what an engine has seen of a stream |
//! | `route` | from the number in a descriptor to the place of its stream |
//! | `slices` | one thread's turns, for as long as it was asked to run |
#![deny(missing_docs)]

pub mod descriptors;
pub mod facts;
pub mod mailbox;
pub mod mapping;
pub mod route;
pub mod slices;
