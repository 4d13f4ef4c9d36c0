# SPDX-License-Identifier: Apache-2.0
"""What `inspect` measures of streams is what their producers did, and the join that it suggests joins what there is."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside.bed import Bed, Process, apart, until
from tests.outside.rows import read_rows
from tests.outside.terminal import COLUMNS, on_terminal

MS = 1_000_000
BEGIN_NS = 10**12


def steps(
    count: int, period_ns: int, *, late_ms: int = 0, jitter_ns: int = 0, not_before_ms: int = 0
) -> Iterator[tuple[int, int, int]]:
    """Frames stamped at a rate, with a pattern of jitter, and published later than they are stamped."""
    for seq in range(count):
        at_ns = seq * period_ns
        yield max(at_ns // MS + late_ms, not_before_ms), seq, BEGIN_NS + at_ns + jitter_ns * (seq * 7 % 5 - 2)


def recorded(bed: Bed, name: str, *, first: tuple[int, Iterator[object]], second: tuple[int, Iterator[object]]) -> Path:
    """A recording of two streams that are played."""
    file = bed.folder / f"{name}.mcap"
    streams = [first[0], second[0]]
    recorder = bed.run("record", file, "--streams", ",".join(map(str, streams)), "--payload", "--json", is_ready=True)
    players = [bed.play(stream, frames) for stream, frames in (first, second)]  # type: ignore[arg-type]
    for player in players:
        player.summary()
    recorder.interrupted()
    return file


def suggested(bed: Bed, recording: Path, name: str) -> Path:
    """The file that is suggested, with a journal of its own."""
    asked = bed.run("inspect", recording, "--suggest")
    assert asked.ended() == 0, asked
    text = "\n".join(asked.lines)
    tomllib.loads(text)
    config = bed.folder / f"{name}.toml"
    config.write_text(text.replace("out/joined", name))
    return config


def rows_of(bed: Bed, config: Path, recording: Path) -> int:
    joined = bed.run("join", "--config", config, "--from", recording, "--json")
    return int(joined.summary()["rows"])


def test_statistics_are_whole_numbers_on_a_terminal_of_80_columns(own_bed: Bed) -> None:
    own_bed.driver()
    recording, streams = own_bed.folder / "wide.mcap", {"camera_left": 30, "camera_right": 30, "inertial_unit": 1000}
    record = own_bed.run("record", recording, "--streams", ",".join(streams), "--payload", "--json", is_ready=True)
    for name, hz in streams.items():
        own_bed.rate(name, hz, 2 * hz, shape="480x640" if hz == 30 else "6")
    assert record.summary()["frames"] > 0
    asked = own_bed.run("inspect", recording, "--stats", "--json")
    assert asked.ended() == 0, asked
    report = asked.says(event="statistics")
    shown = on_terminal(("inspect", recording, "--stats"), own_bed.folder, own_bed.environment)
    assert shown.code == 0, shown.text
    # A bar may stand before them.
    tables = [line for line in shown.text.splitlines() if line[:1] in "┏┃┡│└"]
    assert max(map(len, tables)) <= COLUMNS
    assert "…" not in "".join(tables), shown.text
    cells = [cell.strip() for line in tables for cell in line.split("│")]
    for each in report["streams"].values():
        assert {f"{each['frames']:,}", "300 KiB" if each["payload_bytes"]["most"] == 307_200 else "6 B"} <= {*cells}
        for spread in (each["interval_ns"], each["jitter_ns"]):
            assert {_read(cell) for cell in cells} >= {float(f"{ns:.3g}") for ns in spread.values()}
    for pair in report["skew"]:
        for spread in (pair["nearest_ns"], pair["same_seq_ns"]):
            assert {_read(cell) for cell in cells} >= {float(f"{ns:.3g}") for ns in spread.values()}


def _read(cell: str) -> float:
    """Nanoseconds of a duration; NaN for another cell."""
    number, _, unit = cell.partition(" ")
    scale = {"ns": 1, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}.get(unit)
    return math.nan if scale is None else float(f"{float(number.replace(',', '')) * scale:.3g}")


def test_a_sensor_that_comes_late_is_joined_by_the_suggestion_as_by_the_defaults(bed: Bed) -> None:
    camera, imu = bed.streams()
    file = recorded(bed, "late", first=(camera, steps(60, 33_333_333)), second=(imu, steps(400, 5 * MS, late_ms=150)))
    config = suggested(bed, file, "late-suggested")
    assert tomllib.loads(config.read_text()).get("mergemap", {}).get("lateness_ns", 0) == 0
    default = bed.config(
        "late-default",
        "timestamp",
        {"camera": {"stream": camera, "offset_ns": 0}, "imu": {"stream": imu, "offset_ns": 0}},
    )
    assert rows_of(bed, config, file) >= rows_of(bed, default, file) > 50


@pytest.mark.parametrize(("jitter_ms", "not_before_ms"), [(1, 600), (3, 0)], ids=["burst", "jitter"])
def test_cameras_in_lockstep_are_paired_frame_by_frame(bed: Bed, jitter_ms: int, not_before_ms: int) -> None:
    """The frames of one are published in a burst at first, as by a sender that had to wait; or their stamps jitter by
    more than half a period, so that the nearest frame is often another."""
    left, right = bed.streams()
    name = f"lockstep-{jitter_ms}"
    late = steps(200, 10 * MS, jitter_ns=jitter_ms * MS, not_before_ms=not_before_ms)
    file = recorded(bed, name, first=(left, steps(200, 10 * MS)), second=(right, late))
    config = suggested(bed, file, f"{name}-suggested")
    assert rows_of(bed, config, file) >= 190
    pairs = [
        (row[f"stream_{left}"]["seq"], row[f"stream_{right}"]["seq"])
        for row in read_rows(bed.journal(f"{name}-suggested"))
    ]
    assert [pair for pair in pairs if pair[0] != pair[1]] == []


def test_rates_are_those_of_the_producers_whatever_had_queued_before(bed: Bed) -> None:
    slow, fast = bed.streams()
    for stream, hz in ((slow, 30), (fast, 200)):
        bed.rate(stream, hz, 1_000_000, consumers=0, is_ready=True)
    looking = bed.run("inspect", "live", "--streams", f"{slow},{fast}", "--stats", "--seconds", "4", "--json")
    # It stands still while it begins to listen, as on a machine without a free core: frames queue up.
    until(lambda: _listens(bed, looking), "somebody who listens")
    looking.stop()
    apart(1.5)
    looking.go_on()
    assert looking.ended() == 0
    rates = {int(stream): each["rate_hz"] for stream, each in looking.says(event="statistics")["streams"].items()}
    assert abs(rates[slow] - 30) < 3
    assert abs(rates[fast] - 200) < 20


def _listens(bed: Bed, process: Process) -> bool:
    """Whether it has mapped the log of a media driver's publication."""
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    return f"{bed.folder}/aeron/" in maps and ".logbuffer" in maps
