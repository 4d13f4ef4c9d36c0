# SPDX-License-Identifier: Apache-2.0
"""The build backend: setuptools, told where bindgen finds clang and which CPUs Aeron is compiled for.

rusteron runs bindgen, which loads libclang. The libclang wheel carries the library without clang's own
headers, so the C compiler's are named instead. The library is reached through a link inside the cargo
target folder: its path is part of what cargo fingerprints, and an isolated build lives in a new directory
every time, so without the link each build would compile Aeron again.
"""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from setuptools import build_meta as _setuptools
from setuptools.build_meta import (  # noqa: F401  (the hooks that need no clang are setuptools' own)
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

_TARGET = Path(__file__).resolve().parents[1] / "target"


def choose_instruction_set() -> None:
    """Tell rusteron which CPUs to compile Aeron for; otherwise the wheel dies with SIGILL on an older one.

    Other architectures keep rusteron's default.
    """
    if platform.machine() in ("x86_64", "AMD64"):
        os.environ.setdefault("RUSTERON_C_MARCH", "x86-64-v2")


def point_bindgen_at_clang() -> None:
    """Set LIBCLANG_PATH and bindgen's include path, unless the caller chose a libclang."""
    if "LIBCLANG_PATH" in os.environ:
        return
    import clang.native

    source = Path(clang.native.__file__).parent / "libclang.so"
    link = _TARGET / "libclang" / "libclang.so"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(source)
    os.environ["LIBCLANG_PATH"] = str(link.parent)
    compiler = os.environ.get("CC", "cc")
    headers = subprocess.run([compiler, "-print-file-name=include"], capture_output=True, text=True, check=True)
    os.environ.setdefault("BINDGEN_EXTRA_CLANG_ARGS", f"-isystem {headers.stdout.strip()}")


def build_wheel(*args: Any, **kwargs: Any) -> str:
    """PEP 517 hook."""
    choose_instruction_set()
    point_bindgen_at_clang()
    return _setuptools.build_wheel(*args, **kwargs)


def build_editable(*args: Any, **kwargs: Any) -> str:
    """PEP 660 hook."""
    choose_instruction_set()
    point_bindgen_at_clang()
    return _setuptools.build_editable(*args, **kwargs)
