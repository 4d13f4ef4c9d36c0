// SPDX-License-Identifier: Apache-2.0
//! How an engine hears streams. A join and a recorder share this.
//!
//! | file | what it is |
//! |---|---|
//! | `descriptors` | the logs that messages come from |
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
pub mod waiting;
