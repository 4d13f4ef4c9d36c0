// SPDX-License-Identifier: Apache-2.0
//! Nothing but a build script: see `build.rs`.
