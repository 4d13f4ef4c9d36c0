# SPDX-License-Identifier: Apache-2.0
"""``framegate mergemap serve``: the authority of one or more outputs, until it is told to end."""

from __future__ import annotations

import os
import sys
from collections import deque
from contextlib import closing
from pathlib import Path
from typing import Final

from framegate.joinbarrier.commands.map_options import ServeOptions
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.maps.authority import ANNOUNCE_PERIOD_NS
from framegate.joinbarrier.maps.exchange import MapExchange
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.text import as_object, described, titled
from framegate.schema.console.reporting import emit, event, rendered
from framegate.schema.errors import DONE, TwoAuthorities, WrongUsage
from framegate.shmpool.client.client import Client
from framegate.shmpool.stop_signal import StopSignal

_WAIT_SLICE_S: Final = 0.1
_NS_PER_MS: Final = 1_000_000


def run(options: ServeOptions) -> int:
    """Serve until SIGINT or SIGTERM; the exit code."""
    configs = [load_join_config(path, os.environ) for path in options.configs]
    maps = _maps(options, configs)
    period_ns = min((each.mergemap.announce_ms * _NS_PER_MS for each in configs), default=ANNOUNCE_PERIOD_NS)
    # Heard on the client's thread, said on this one: lines of two threads could run into each other.
    conflicts = deque[TwoAuthorities]()
    with (
        StopSignal() as stop,
        options.connect() as client,
        closing(MapExchange(client, announce_period_ns=period_ns, on_conflict=conflicts.append)) as exchange,
    ):
        stop.listen()
        for owned in maps:
            exchange.own(owned, is_any_epoch=True)
        _say_ready(client, maps, as_json=options.json)
        while not stop.wait(_WAIT_SLICE_S):
            _say_conflicts(conflicts, as_json=options.json)
        summary = exchange.counters()
    _say_conflicts(conflicts, as_json=options.json)
    if options.json:
        emit({"event": "summary", "maps": len(maps), **summary})
    else:
        print(f"{summary.get('answers', 0)} requests answered, {summary.get('conflicts', 0)} announces of others heard")
    return DONE


def _maps(options: ServeOptions, configs: list[JoinConfig]) -> list[MergeMap]:
    owners: dict[int, Path] = {}
    maps = []
    for path, config in zip(options.configs, configs, strict=True):
        owned = config.merge_map(config.first_epoch if options.epoch is None else options.epoch)
        if owned is None:
            raise WrongUsage(f"the policy {config.join.policy} needs no map, so there is none to serve", file=path)
        if owned.out_stream in owners:
            raise WrongUsage(f"output {owned.out_stream} is also that of {owners[owned.out_stream]}", file=path)
        owners[owned.out_stream] = path
        maps.append(owned)
    return maps


def _say_ready(client: Client, maps: list[MergeMap], *, as_json: bool) -> None:
    names = client.names.by_number()
    if as_json:
        emit(
            {
                "event": "ready",
                "pid": os.getpid(),
                "aeron_dir": client.aeron_dir,
                "maps": [as_object(each, names) for each in maps],
            }
        )
        return
    print(f"ready pid={os.getpid()} aeron_dir={client.aeron_dir}", flush=True)
    for each in maps:
        print(f"{titled(each.out_stream, each.epoch, names)} and every other: {described(each, names)}", flush=True)


def _say_conflicts(conflicts: deque[TwoAuthorities], *, as_json: bool) -> None:
    """Not the end of serving: which of the two is wrong is for people to say."""
    while conflicts:
        conflict = conflicts.popleft()
        if as_json:
            emit({**event(conflict), "event": "conflict"})
        else:
            print(rendered(conflict), file=sys.stderr, flush=True)
