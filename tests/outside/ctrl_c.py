# SPDX-License-Identifier: Apache-2.0
"""Every command, on a terminal, ended by Ctrl-C at once or a little later: ``python -m tests.outside.ctrl_c`` prints a
table of exit codes and of the seconds to the end."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.outside.bed import Bed
from tests.outside.recordings import MS, ticks, write_recording
from tests.outside.terminal import Shown, on_terminal

DELAYS_S = (0.0, 0.02, 0.05, 0.1, 0.3)
_CONFIG = """
[join]
out_stream = 20001
policy = "sequence"
journal = "{journal}"

[[input]]
name = "left"
stream = 10001
"""
COMMANDS = {
    "version": "--version",
    "help": "--help",
    "completion": "completion bash",
    "doctor": "doctor",
    "demo": "demo --no-spark --seconds 5",
    "driver": "driver --aeron-dir {new}/aeron --base-dir {new}/pool",
    "produce": "produce --stream 10007 --rate 100",
    "consume": "consume --stream 10007",
    "join": "join --config {new}/live.toml",
    "join --from": "join --config {new}/live.toml --from {folder}/in.mcap --map /a=10001",
    "record": "record {new}/out.mcap --streams 10007",
    "record --recover": "record {new}/out.mcap --recover {folder}/in.mcap",
    "replay": "replay {folder}/in.mcap --map /a=10009 --speed 0.1",
    "inspect": "inspect {folder}/in.mcap --stats",
    "audit": "audit {folder}/journal",
    "journal ls": "journal ls {folder}/journal",
    "journal show": "journal show {folder}/journal",
    "journal tail": "journal tail --follow {folder}/journal",
    "journal unmatched": "journal unmatched {folder}/journal",
    "journal verify": "journal verify {folder}/journal",
    "journal diff": "journal diff {folder}/journal {folder}/journal",
    "journal export": "journal export {folder}/journal {new}/out.parquet",
    "journal serve": "journal serve {folder}/journal",
    "mergemap serve": "mergemap serve {new}/live.toml",
    "mergemap request": "mergemap request --out-stream 20009",
    "mergemap show": "mergemap show",
    "mergemap check": "mergemap check {new}/live.toml",
    "checkpoint trigger": "checkpoint trigger",
    "checkpoint signal": "checkpoint signal",
    "checkpoint ls": "checkpoint ls {folder}",
    "checkpoint show": "checkpoint show {folder} 1",
    "checkpoint verify": "checkpoint verify {folder}",
}


def prepare(bed: Bed) -> None:
    """What the commands look at: a recording, and the journal of its join."""
    write_recording(bed.folder / "in.mcap", {"/a": ticks(2_000, MS)})
    (bed.folder / "join.toml").write_text(_CONFIG.format(journal="journal"))
    bed.run("join", "--config", "join.toml", "--from", "in.mcap", "--map", "/a=10001", "--json").summary()


def interrupted(bed: Bed, command: str) -> Iterator[tuple[float, Shown]]:
    """A command with Ctrl-C after each of the delays."""
    for delay_s in DELAYS_S:
        # In shared memory, where media drivers and regions belong.
        new = Path(tempfile.mkdtemp(dir=bed.folder))
        (new / "live.toml").write_text(_CONFIG.format(journal=new / "journal"))
        words = COMMANDS[command].format(folder=bed.folder, new=new).split()
        yield delay_s, on_terminal(words, new, bed.environment, interrupt_after_s=delay_s)


def main() -> int:
    """The table."""
    print(f"{'':20}", *(f"{delay_s * 1e3:7.0f} ms" for delay_s in DELAYS_S))
    with Bed() as bed:
        bed.driver()
        prepare(bed)
        for command in COMMANDS:
            cells = [f"{shown.code:3} {shown.after_s or 0:4.2f} s" for _, shown in interrupted(bed, command)]
            print(f"{command:20}", *(f"{cell:>10}" for cell in cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
