# SPDX-License-Identifier: Apache-2.0
"""Whole rigs from one file: started in order, restarted by rule, ended in order, and never left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from tests.outside.bed import ENVIRONMENT, FRAMEGATE, USAGE, Bed, Object, Process, until
from tests.outside.rows import newest_row, read_rows

LONG_S = 180.0
"""Several processes start one after the other, on a machine that others use too."""

CAMERAS = """
[source.left]
stream = 10001
rate = 100
shape = "8x8"
sent_log = "sent-left.csv"

[source.right]
stream = 10002
rate = 100
shape = "8x8"
sent_log = "sent-right.csv"
"""
BY_TIME = """
[join.both.join]
out_stream = 20001
policy = "timestamp"
journal = "out/both"
drive = "input:left"

[join.both.mergemap]
stale_timeout_ms = 300

[[join.both.input]]
name = "left"
stream = 10001
offset_ns = 0

[[join.both.input]]
name = "right"
stream = 10002
window_ns = 20_000_000
"""
EVERY_KIND = f"""
{CAMERAS}
{BY_TIME}
[recorder.tape]
file = "tape.mcap"
streams = [10001, 10002]
after = ["driver"]

[server.flight]
joins = ["both"]

[query.follower]
program = "follower.py"
joins = ["both"]
spark = false
ready = "following"

[consumer.counter]
stream = 10001

[command.shell]
command = "echo first; sleep 1000 & wait"
"""
FOLLOWER = """
import framegate as fg

print("following", flush=True)
seen = 0
for row in fg.journal("out/both").rows(follow=True):
    seen += 1
    if seen % 50 == 0:
        print(f"{seen} rows", flush=True)
"""


def written(bed: Bed, text: str, name: str = "rig.toml") -> Path:
    path = bed.folder / name
    path.write_text(text)
    return path


def status(bed: Bed, *words: object) -> list[Object]:
    asked = bed.run("status", *words, "--json")
    assert asked.ended() == 0, asked
    return asked.objects()


def parts(bed: Bed) -> dict[str, Object]:
    return {each["name"]: each for each in status(bed) if each["event"] == "part"}


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has collected yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def family(pid: int) -> list[int]:
    """All that descend from a process, at this moment."""
    found = []
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, each.read_text().split()):
            found += [child, *family(child)]
    return found


def up(bed: Bed, text: str, *words: object) -> Process:
    """A rig that runs in the foreground, and is ready."""
    rig = bed.run("up", written(bed, text), "--json", *words)
    until(lambda: rig.has_ended or any(each["event"] == "ready" for each in rig.objects()), f"ready: {rig}", LONG_S)
    rig.says(event="ready")
    return rig


def ended(rig: Process) -> Object:
    """The summary of a rig that is told to end."""
    rig.send(signal.SIGINT)
    assert rig.ended(LONG_S) == 0, rig
    return rig.says(event="summary")


def more_rows(bed: Bed, journal: str = "out/both") -> None:
    there = newest_row(bed.journal(journal))
    until(lambda: newest_row(bed.journal(journal)) > there + 20, f"rows behind {there}", LONG_S)


def nothing_is_left(bed: Bed, *more: str) -> None:
    """But the token of a server, and what a driver that was killed could not take away."""
    pool = bed.folder / "pool"
    assert not pool.exists() or {each.name.partition("-")[0] for each in pool.iterdir()} <= {
        "flight.token",
        "streams.json",
        "streams.lock",
        *more,
    }
    assert not (bed.folder / "aeron").exists()


# --- the ready-made ones ---------------------------------------------------------------------------------------

ROWS = {
    "two-cameras": {"out/two-cameras": 300},
    "offset-stage": {"out/aligned": 298, "out/detected": 298},
    "recorded": {"out/live": 200, "out/again": 200},
    "spark-query": {"out/spark-query": 300},
}
"""camera-imu stands below: by time, rows begin when both have."""


@pytest.mark.parametrize("name", ROWS)
def test_a_rig_that_new_writes_runs_as_it_is(own_bed: Bed, name: str) -> None:
    assert own_bed.run("new", name).ended() == 0
    rig = own_bed.run("up", f"{name}.toml")
    assert rig.ended(350) == 0, rig
    for journal, rows in ROWS[name].items():
        assert len(read_rows(own_bed.journal(journal))) == rows, rig
    if name == "spark-query":
        assert any("300 rows seen" in line for line in rig.lines), rig
    if name == "recorded":
        compared = own_bed.run("journal", "diff", "out/live", "out/again")
        assert compared.ended() == 0, compared
    nothing_is_left(own_bed)


def test_camera_imu_joins_every_frame_that_the_sensor_was_there_for(own_bed: Bed) -> None:
    assert own_bed.run("new", "camera-imu").ended() == 0
    rig = own_bed.run("up", "camera-imu.toml", "--json")
    assert rig.ended(LONG_S) == 0, rig
    rows = read_rows(own_bed.journal("out/camera-imu"))
    assert len(rows) > 30, rig
    assert all(row["camera"]["status"] == "present" for row in rows)
    assert {each["state"] for each in rig.says(event="summary")["parts"].values()} == {"ended"}


def test_new_says_what_there_is_and_touches_no_file(own_bed: Bed) -> None:
    listed = own_bed.run("new", "--list", "--json")
    assert listed.ended() == 0
    assert {each["name"] for each in listed.objects()} == {*ROWS, "camera-imu"}
    (own_bed.folder / "recorded.toml").write_text("mine")
    refused = own_bed.run("new", "recorded")
    assert refused.ended() == USAGE
    assert "recorded.toml is there already" in refused.errors
    assert (own_bed.folder / "recorded.toml").read_text() == "mine"


# --- killing ---------------------------------------------------------------------------------------------------


def test_a_part_of_every_kind_is_killed_and_comes_back_and_the_books_balance(own_bed: Bed) -> None:
    written(own_bed, FOLLOWER, "follower.py")
    rig = up(own_bed, EVERY_KIND)
    more_rows(own_bed)
    for name in ("left", "both", "tape", "flight", "follower", "counter", "shell", "driver"):
        before = parts(own_bed)[name]
        os.kill(before["pid"], signal.SIGKILL)

        def is_back(name: str = name, before: Object = before) -> bool:
            now = parts(own_bed)[name]
            return bool(
                now["state"] == "running" and now["restarts"] > before["restarts"] and now["pid"] != before["pid"]
            )

        until(is_back, f"{name} runs again: {rig}", LONG_S)
        more_rows(own_bed)
    found = ended(rig)
    assert {name: each["state"] for name, each in found["parts"].items()} == dict.fromkeys(found["parts"], "ended")
    assert (own_bed.folder / "tape-2.mcap").exists(), "a recorder never writes over what another one left"
    sent = sorted(own_bed.folder.glob("sent-*.csv"))
    assert len(sent) > 2, "each start of a source has a log of its own"
    auditor = own_bed.run("audit", "out/both", *[word for path in sent for word in ("--sent", path)], "--json")
    assert auditor.ended() == 0, auditor
    assert auditor.says(event="summary")["unexplained"] == 0, auditor
    nothing_is_left(own_bed, "tensorpool")


def test_what_a_killed_part_has_started_ends_with_it(own_bed: Bed) -> None:
    rig = up(own_bed, '[command.shell]\ncommand = "sleep 1000 & sleep 1000"\n')
    pid = parts(own_bed)["shell"]["pid"]
    until(lambda: len(family(pid)) == 2, "both sleep")
    sleepers = family(pid)
    os.kill(pid, signal.SIGKILL)
    until(lambda: all(map(is_gone, sleepers)), "they are gone")
    ended(rig)


def test_a_part_that_keeps_failing_ends_the_rig_when_its_limit_is_reached(own_bed: Bed) -> None:
    text = f'{CAMERAS}\n[command.broken]\ncommand = "echo no light; exit 7"\nrestarts_max = 2\n'
    rig = own_bed.run("up", written(own_bed, text))
    assert rig.ended(LONG_S) == 1, rig
    assert "[FG-945 PART_FAILED]" in rig.errors
    assert sum("no light" in line for line in rig.lines) == 3, rig
    assert "restarts_max allows" in rig.text
    logs = own_bed.run("logs", "broken")
    assert logs.ended() == 0, "what failed can still be read"
    assert sum("no light" in line for line in logs.lines) == 3, logs
    assert own_bed.run("down").ended() == 0
    nothing_is_left(own_bed)


def test_the_supervisor_is_killed_and_nothing_of_the_rig_is_left_running(own_bed: Bed) -> None:
    written(own_bed, FOLLOWER, "follower.py")
    rig = up(own_bed, EVERY_KIND + '[command.runaway]\ncommand = "setsid sleep 1000 & sleep 1000"\n')
    more_rows(own_bed)
    everybody = family(rig.pid)
    assert len(everybody) > 12
    rig.kill()
    until(lambda: all(map(is_gone, everybody)), f"gone: {[pid for pid in everybody if not is_gone(pid)]}", LONG_S)
    assert not (own_bed.folder / "aeron").exists()
    asked = own_bed.run("status")
    assert asked.ended() == 0
    assert "gone: it ended without a word" in asked.text
    again = up(own_bed, CAMERAS + BY_TIME)
    more_rows(own_bed)
    ended(again)
    nothing_is_left(own_bed, "tensorpool")


# --- in the background -----------------------------------------------------------------------------------------


def test_a_rig_in_the_background_is_seen_heard_and_ended(own_bed: Bed) -> None:
    # `cat` ends when nothing of the rig holds the pipe any more.
    started = own_bed.shell(f"{FRAMEGATE} up {written(own_bed, CAMERAS + BY_TIME)} --detach 2>&1 | cat")
    assert started.ended(LONG_S) == 0, started
    supervisor = next(each["pid"] for each in status(own_bed) if each["event"] == "rig")
    try:
        more_rows(own_bed)
        assert {each["state"] for each in parts(own_bed).values()} == {"running"}
        asked = own_bed.run("status")
        assert asked.ended() == 0
        assert f"supervised by process {supervisor}" in asked.text
        assert "left+right -> 20001" in asked.text
        follower = own_bed.run("logs", "left", "--follow")
        all_parts = own_bed.run("logs", "-n", "1000")
        assert all_parts.ended() == 0
        assert any("both" in line and "ready" in line for line in all_parts.lines), all_parts
        until(lambda: any("ready" in line for line in follower.lines), "what was said before")
        second = own_bed.run("up", "rig.toml")
        assert second.ended() == ENVIRONMENT, second
        assert f"[FG-941 RIG_PRESENT] base_dir={own_bed.folder / 'pool'} pid={supervisor}" in second.errors
    finally:
        down = own_bed.run("down")
        assert down.ended(LONG_S) == 0, down
    assert "has ended, all 4 parts" in down.text
    assert follower.ended() == 0
    assert any("summary" in line for line in follower.lines), "what was said while it was followed"
    assert is_gone(supervisor)
    nothing_is_left(own_bed)
    missing = own_bed.run("down")
    assert missing.ended() == ENVIRONMENT
    assert "[FG-942 RIG_MISSING]" in missing.errors


def test_a_rig_that_cannot_start_says_so_in_the_foreground_too(own_bed: Bed) -> None:
    text = '[command.broken]\ncommand = "exit 7"\nready = "never said"\nrestart = "never"\n'
    started = own_bed.run("up", written(own_bed, text), "--detach")
    assert started.ended(LONG_S) == 1, started
    assert "[FG-945 PART_FAILED] part=broken" in started.errors
    assert own_bed.run("down").ended() == 0


# --- ending ----------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_sources_first_and_the_driver_last(own_bed: Bed) -> None:
    rig = up(own_bed, CAMERAS + BY_TIME)
    more_rows(own_bed)
    ended(rig)
    order = [each["part"] for each in rig.objects() if each["event"] == "line" and each["text"].startswith("summary")]
    assert set(order[:2]) == {"left", "right"}
    assert order[2:] == ["both", "driver"]
    nothing_is_left(own_bed)


def test_a_part_that_will_not_end_is_ended_within_its_grace(own_bed: Bed) -> None:
    deaf = (
        "[rig]\ngrace_s = 0.5\n"
        + '[command.deaf]\ncommand = "trap \'\' INT TERM; echo deaf; while :; do sleep 1; done"\nready = "deaf"\n'
    )
    rig = up(own_bed, deaf)
    found = ended(rig)
    assert found["parts"]["deaf"]["last_exit"] == -signal.SIGKILL
    assert [word for word in ("SIGTERM", "SIGKILL") if word in rig.text] == ["SIGTERM", "SIGKILL"]


def test_a_driver_that_runs_already_is_used_and_left_running(own_bed: Bed) -> None:
    driver = own_bed.driver()
    rig = up(own_bed, CAMERAS + BY_TIME)
    more_rows(own_bed)
    assert "driver" not in parts(own_bed)
    ended(rig)
    assert not driver.has_ended


# --- joins that were started by hand ---------------------------------------------------------------------------


def test_status_shows_a_join_without_a_rig_and_whom_it_waits_for(bed: Bed) -> None:
    left, right = bed.streams()
    bed.join(bed.lockstep("alone", [left, right]))
    bed.rate(left, 200, 100_000, end=False, is_ready=True)

    def found() -> Object:
        [join] = [each for each in status(bed) if each["event"] == "join" and each["journal"].endswith("/alone")]
        return join

    until(lambda: found().get("quiet_s", 0) > 2, "it stands still")
    assert [each["name"] for each in found()["waits_for"]] == ["s1"]
    asked = bed.run("status")
    asked.ended()
    assert "waits for s1 (nothing was seen of it yet)" in asked.text, asked
    bed.rate(right, 200, 100_000, end=False, is_ready=True)
    until(lambda: found()["rows"] > 100 and found()["rows_per_s"] > 0, "rows")
    assert found()["state"] == "joining"


def test_status_shows_journals_that_are_named_and_joins_that_were_killed(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(bed.lockstep("named", [left, right]))
    for each in [bed.rate(stream, 200, 50) for stream in (left, right)]:
        each.summary()
    join.summary()
    [found] = [
        each
        for each in status(bed, bed.journal("named"))
        if each["event"] == "join" and each["journal"].endswith("/named")
    ]
    assert (found["state"], found["rows"]) == ("closed", 50)
    killed = bed.join(bed.lockstep("killed", [left, right]))
    killed.kill()
    [found] = [each for each in status(bed) if each["event"] == "join" and each["journal"].endswith("/killed")]
    assert found["state"] == "gone"
    missing = bed.run("status", bed.folder / "nowhere", "--json")
    assert missing.ended() != 0


# --- what cannot run -------------------------------------------------------------------------------------------


def refused(bed: Bed, text: str, code: int, *said: str) -> None:
    rig = bed.run("up", written(bed, text))
    assert rig.ended() == code, rig
    assert rig.errors.count("\n") == 2, rig
    for each in said:
        assert each in rig.errors, rig
    nothing_is_left(bed)


def test_a_circle_is_named(own_bed: Bed) -> None:
    text = "".join(f'[command.{a}]\ncommand = "true"\nafter = ["{b}"]\n' for a, b in ("ab", "bc", "ca"))
    refused(own_bed, text, USAGE, "[FG-940 RIG_CYCLE]", "a waits for b waits for c", "`after`")


def test_a_port_in_use_is_named(own_bed: Bed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        text = CAMERAS + BY_TIME + f'[server.s]\njoins = ["both"]\nlisten = "grpc://127.0.0.1:{port}"\n'
        refused(own_bed, text, ENVIRONMENT, "[FG-943 PORT_TAKEN] part=server.s", str(port), "another port")


def test_a_query_without_its_java_is_refused_before_anything_starts(own_bed: Bed) -> None:
    written(own_bed, "", "query.py")
    own_bed.environment["JAVA_HOME"] = "/nowhere"
    text = CAMERAS + BY_TIME + '[query.q]\nprogram = "query.py"\njoins = ["both"]\n'
    refused(own_bed, text, ENVIRONMENT, "[FG-712 JAVA_MISSING]", "JAVA_HOME")


def test_a_reader_before_its_journal_is_told_which_join_makes_it(own_bed: Bed) -> None:
    text = CAMERAS + BY_TIME + '[server.s]\njournals = ["out/bothh"]\n'
    refused(own_bed, text, USAGE, "[FG-944 JOURNAL_NOT_MADE] part=server.s", 'joins = ["both"]')


def test_a_program_that_is_not_there_is_named(own_bed: Bed) -> None:
    refused(
        own_bed, '[command.x]\ncommand = ["no-such-program"]\n', ENVIRONMENT, "[FG-946 PROGRAM_MISSING]", "command.x"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_the_base_directory_of_another_user_is_refused(own_bed: Bed) -> None:
    pool = own_bed.folder / "pool"
    pool.mkdir()
    os.chown(pool, 12345, 12345)
    refused(own_bed, CAMERAS, ENVIRONMENT, "[FG-922 NO_PERMISSION]", "user 12345", "--base-dir")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_the_media_driver_of_another_user_is_refused(own_bed: Bed) -> None:
    aeron = own_bed.folder / "aeron"
    aeron.mkdir()
    (aeron / "cnc.dat").touch()
    os.chown(aeron / "cnc.dat", 12345, 12345)
    rig = own_bed.run("up", written(own_bed, CAMERAS))
    assert rig.ended() == ENVIRONMENT, rig
    assert "[FG-313 MEDIA_DRIVER_FOREIGN]" in rig.errors
    assert "--aeron-dir" in rig.errors


def test_a_mistake_in_the_file_is_told_with_its_line(own_bed: Bed) -> None:
    refused(
        own_bed,
        CAMERAS.replace("rate", "raet", 1),
        USAGE,
        "[FG-901 UNKNOWN_KEY]",
        "line=4",
        "nearest=rate",
    )


# --- elsewhere -------------------------------------------------------------------------------------------------


def test_a_unit_is_written_that_systemd_takes(own_bed: Bed) -> None:
    assert own_bed.run("new", "two-cameras").ended() == 0
    wrote = own_bed.run("new", "--systemd", "two-cameras.toml")
    assert wrote.ended() == 0, wrote
    unit = own_bed.folder / "two-cameras.service"
    keys = dict(line.split("=", 1) for line in unit.read_text().splitlines() if "=" in line and line[0].isalpha())
    assert keys["ExecStart"].endswith(f" -m framegate up {own_bed.folder / 'two-cameras.toml'}")
    assert keys["KillSignal"] == "SIGINT"
    if shutil.which("systemd-analyze"):
        own_bed.environment["XDG_RUNTIME_DIR"] = str(own_bed.folder)
        checked = own_bed.shell(f"systemd-analyze verify --user {unit}")
        assert checked.ended() == 0, checked
        assert unit.name not in checked.errors, checked
    # What the unit starts is what runs here.
    rig = own_bed.shell(f"cd / && exec {keys['ExecStart']}")
    assert rig.ended(LONG_S) == 0, rig
    assert len(read_rows(own_bed.journal("out/two-cameras"))) == 300


def test_a_container_file_is_written_for_the_rig(own_bed: Bed) -> None:
    for name, has_java in (("two-cameras", False), ("spark-query", True)):
        assert own_bed.run("new", name).ended() == 0
        file = own_bed.folder / f"{name}.containerfile"
        wrote = own_bed.run("new", "--container", f"{name}.toml", file.name)
        assert wrote.ended() == 0, wrote
        steps = [line.split(" ", 1) for line in file.read_text().splitlines() if line and line[0] not in "#\t "]
        words = [word for word, _ in steps]
        assert words[0] == "FROM"
        assert set(words) <= {"FROM", "COPY", "RUN", "WORKDIR", "ENV", "STOPSIGNAL", "CMD"}
        assert json.loads(steps[-1][1]) == ["framegate", "up", f"{name}.toml"]
        assert ("default-jre-headless" in file.read_text()) == has_java
        assert ("[spark]" in file.read_text()) == has_java
