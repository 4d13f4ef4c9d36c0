# SPDX-License-Identifier: Apache-2.0
"""Prints the shell exports that a cargo run by hand needs to compile the crates around Aeron as pip does.

The same values keep cargo from compiling Aeron a second time.
"""

import os
import shlex
import sys
from pathlib import Path

import backend

backend.choose_instruction_set()
backend.point_bindgen_at_clang()
names = ("LIBCLANG_PATH", "BINDGEN_EXTRA_CLANG_ARGS", "RUSTERON_C_MARCH")
exports = {name: os.environ[name] for name in names if name in os.environ}
exports["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in exports.items()))
