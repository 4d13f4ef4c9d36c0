// SPDX-License-Identifier: Apache-2.0
//! rusteron asks the linker for libuuid and libbsd whether or not Aeron uses them. Aeron is compiled
//! without them (see `cmake/aeron.cmake`), so two empty archives answer, and no system package is needed.
use std::{env, fs, path::Path};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    for archive in ["libuuid.a", "libbsd.a"] {
        fs::write(Path::new(&out).join(archive), b"!<arch>\n").expect("OUT_DIR is writable");
    }
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rerun-if-changed=build.rs");
}
