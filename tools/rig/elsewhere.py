# SPDX-License-Identifier: Apache-2.0
"""Runs a rig elsewhere: writes a systemd unit, or a container file. The supervisor is the same in all three places."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from framegate.schema.config.settings import default_aeron_dir
from framegate.schema.errors import WrongUsage
from framegate.tools.rig.load import LoadedRig

_UNIT: Final = """\
# SPDX-License-Identifier: Apache-2.0
# {name}: the rig of {rig}.
#
#   systemctl --user enable --now {unit}
#   journalctl --user -u {name} -f
#
# It runs as this user; `loginctl enable-linger` lets it run without a login. See also `framegate logs --follow`.
# Parts are restarted by their own rules in the rig file, and this unit only when the supervisor itself fails.

[Unit]
Description=framegate rig {name}

[Service]
Type=exec
WorkingDirectory={folder}
Environment=FRAMEGATE_AERON_DIR={aeron_dir}
Environment=FRAMEGATE_BASE_DIR={base_dir}
ExecStart={python} -m framegate up {rig}
# The supervisor is told to end, and ends its parts in their order; what is left after that is killed.
KillMode=mixed
KillSignal=SIGINT
TimeoutStopSec={stop_s}
Restart=on-failure
RestartSec=5
# Exit code 2 is a mistake in the rig file: it would be made again.
RestartPreventExitStatus=2

[Install]
WantedBy=default.target
"""

_CONTAINER: Final = """\
# SPDX-License-Identifier: Apache-2.0
# {name}: the rig of {rig_name} in a container. Build and run it in the folder of the rig:
#
#   pip wheel --wheel-dir wheels PATH_OF_FRAMEGATE     builds framegate and what it needs, once
#   podman build -f {target} -t {image} .
#   podman run --rm --init --shm-size=1g -v ./out:/rig/out {image}
#   podman exec CONTAINER framegate status             likewise: logs, down
#
# docker takes the same words. --init collects what parts leave behind; --shm-size holds rings and Aeron's logs: the
# 64 MiB that containers have otherwise are too few. To share streams with programs outside, add --ipc=host
# -v /dev/shm:/dev/shm and run both sides as one user.

FROM docker.io/library/python:{python_version}-slim
{java}COPY wheels /wheels
RUN python -m pip install --no-cache-dir --no-index --find-links /wheels {package} && rm -rf /wheels
WORKDIR /rig
COPY . /rig
ENV FRAMEGATE_AERON_DIR=/dev/shm/aeron FRAMEGATE_BASE_DIR=/dev/shm/framegate PYTHONUNBUFFERED=1
STOPSIGNAL SIGINT
CMD ["framegate", "up", "{rig_name}"]
"""
_JAVA: Final = (
    "RUN apt-get update && apt-get install -y --no-install-recommends default-jre-headless && apt-get clean\n"
)
_CHAIN_S: Final = 15
"""The time for processes that end after the parts, and for systemd's own rounding."""


def unit_file(rig: LoadedRig, environment: Mapping[str, str]) -> str:
    """The text of a unit for this user, this Python and this base directory."""
    words = [sys.executable, str(rig.path), str(rig.folder)]
    if odd := next((word for word in words if set(word) & set(" \t\"'\\%$")), None):
        raise WrongUsage(f"a unit cannot name this path, for its blanks, quotes or %: {odd}")
    parts = len(rig.file.parts()) + 1
    return _UNIT.format(
        name=rig.path.stem,
        rig=rig.path,
        unit=f"./{rig.path.stem}.service",
        folder=rig.folder,
        aeron_dir=rig.client.aeron_dir or default_aeron_dir(environment),
        base_dir=rig.client.base_dir,
        python=sys.executable,
        stop_s=int(parts * 2 * rig.file.rig.grace_s) + _CHAIN_S,
    )


def container_file(rig: LoadedRig, target: Path) -> str:
    """The text of a container file for the folder of the rig."""
    in_spark = any(query.spark for query in rig.file.query.values())
    return _CONTAINER.format(
        name=rig.path.stem,
        rig_name=os.path.relpath(rig.path, rig.folder),
        target=target.name,
        image=f"rig-{rig.path.stem}",
        python_version=".".join(map(str, sys.version_info[:2])),
        java=_JAVA if in_spark else "",
        package="'framegate[spark]'" if in_spark else "framegate",
    )
