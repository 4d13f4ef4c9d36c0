# SPDX-License-Identifier: Apache-2.0
"""The options that many commands share, written once so that name, type and help are the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration file (TOML)."),
]
AeronDirOption: TypeAlias = Annotated[
    Path | None,
    # Whether it can be read is said where it is used, with its owner.
    typer.Option("--aeron-dir", metavar="DIR", readable=False, help="Directory of the media driver."),
]
BaseDirOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--base-dir", metavar="DIR", readable=False, help="Directory of the shared-memory regions."),
]
WaitDriverOption: TypeAlias = Annotated[
    float | None,
    typer.Option("--wait-driver", metavar="S", help="Seconds to wait for a driver (default 10)."),
]
JsonOption: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Print JSON objects, one a line, instead of text."),
]


def absolute(path: Path | None) -> str | None:
    """A directory from the command line, seen from where the command was started."""
    return None if path is None else str(path.absolute())
