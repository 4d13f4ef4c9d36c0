# SPDX-License-Identifier: Apache-2.0
"""``framegate new``: writes a rig that runs as it is, or a systemd unit or a container file that runs one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, WrongUsage
from framegate.tools.rig import templates
from framegate.tools.rig.elsewhere import container_file, unit_file
from framegate.tools.rig.load import load_rig


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOptions:
    """``framegate new``."""

    name: str | None = None
    file: Path | None = None
    is_list: bool = False
    systemd: Path | None = None
    container: Path | None = None
    json: bool = False


def run(options: NewOptions) -> int:
    """Write new files; existing ones stay unchanged. Returns the exit code. Raises what loading a rig raises."""
    if options.is_list:
        return _list(as_json=options.json)
    if options.systemd is None and options.container is None:
        return _template(options)
    rig = options.systemd or options.container or Path()
    if options.file is not None or (options.systemd is not None and options.container is not None):
        raise WrongUsage(
            "one of --systemd RIG.toml and --container RIG.toml writes one file, which is all that follows"
        )
    # The rig is loaded now, because a unit for an invalid rig would be useless.
    loaded = load_rig(rig, os.environ)
    # With these options the first word is the file.
    named = None if options.name is None else Path(options.name)
    if options.systemd is not None:
        target = named or Path(f"{rig.stem}.service")
        text, hint = unit_file(loaded, os.environ), f"systemctl --user enable --now {target.absolute()}"
    else:
        target = named or Path("Containerfile")
        text, hint = container_file(loaded, target), f"the commands in the first lines of {target}"
    return _write({target: text}, hint, as_json=options.json)


def _template(options: NewOptions) -> int:
    if options.name is None:
        raise WrongUsage(f"say which rig is to be written: {', '.join(templates.names())}; --list says what they show")
    return _rig(options.name, options.file, as_json=options.json)


def _list(*, as_json: bool) -> int:
    for name in templates.names():
        if as_json:
            emit({"event": "template", "name": name, "title": templates.title(name)})
        else:
            print(f"{name:14} {templates.title(name)}")
    return DONE


def _rig(name: str, file: Path | None, *, as_json: bool) -> int:
    target = file or Path(f"{name}.toml")
    found = templates.files_of(name)
    texts = {target: found.pop(f"{name}.toml")}
    texts |= {target.parent / other: text for other, text in found.items()}
    return _write(texts, f"framegate up {target}", as_json=as_json)


def _write(texts: Mapping[Path, str], hint: str, *, as_json: bool) -> int:
    for path in texts:
        if path.exists():
            raise WrongUsage(f"{path} is there already: name another file, or take it away")
    for path, text in texts.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as failure:
            raise WrongUsage(f"{path} cannot be written: {failure.strerror}") from None
        if as_json:
            emit({"event": "written", "path": str(path)})
    if not as_json:
        print(f"wrote {', '.join(map(str, texts))}; run it with: {hint}")
    return DONE
