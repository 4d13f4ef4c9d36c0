# SPDX-License-Identifier: Apache-2.0
"""Writes the codecs: SBE XML in, checked-in Python and Rust out. Run it with ``python -m dev.codegen``."""
