# SPDX-License-Identifier: Apache-2.0
"""``framegate join --example NAME``: a ready-made configuration, written where the user is."""

from __future__ import annotations

from pathlib import Path

from framegate.joinbarrier import examples
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, WrongUsage


def write_example(name: str, target: Path | None, *, as_json: bool) -> int:
    """Write it to ``target``, else to NAME.toml; a file that is there already is not touched."""
    if name not in examples.names():
        raise WrongUsage(f"there is no example {name!r}: take one of {', '.join(examples.names())}")
    path = target or Path(f"{name}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(examples.text(name))
    except FileExistsError:
        raise WrongUsage(f"{path} is there already: name another file with --config") from None
    except OSError as failure:
        raise WrongUsage(f"{path} cannot be written: {failure.strerror}") from None
    if as_json:
        emit({"event": "written", "path": str(path)})
    else:
        print(f"wrote {path}; run it with: framegate join --config {path}")
    return DONE
