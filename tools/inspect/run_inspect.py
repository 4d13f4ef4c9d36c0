# SPDX-License-Identifier: Apache-2.0
"""``framegate inspect``: show what is there, and say whether it is all of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from framegate.recording.source import Source
from framegate.schema.console.progress import progress
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, RecordingIncomplete, UnknownContent, WrongUsage
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.inspect.content import Content, is_live
from framegate.tools.inspect.filters import Filter
from framegate.tools.inspect.incomplete import why_incomplete
from framegate.tools.inspect.live import live
from framegate.tools.inspect.naming import names_of
from framegate.tools.inspect.options import InspectOptions
from framegate.tools.inspect.printing import clean, line
from framegate.tools.inspect.seen import Seen
from framegate.tools.inspect.statistics import Statistics
from framegate.tools.inspect.suggest import suggest
from framegate.tools.inspect.tables import print_tables
from framegate.tools.inspect.topics import TopicsSeen, how_to_map, print_topics


def run(options: InspectOptions) -> int:
    """Inspect; the exit code. Raises ``RecordingIncomplete`` where that was asked for."""
    if options.suggest and options.json:
        raise WrongUsage("--suggest prints a join.toml: leave --json out")
    topics = TopicsSeen({}, options.times)
    statistics = Statistics() if options.stats or options.suggest else None
    names = names_of(options)
    with StopSignal() as stop:
        if is_live(options.source):
            shown = _show(options, live(options, stop), stop, statistics, names)
            recording = None
        else:
            with Content.open(options.source) as content:
                topics = content.topics = TopicsSeen(options.topics, options.times)
                # Lines say for themselves how far they have got.
                with progress(f"read {options.source}", lambda: content.at, content.size, as_json=statistics is None):
                    shown = _show(options, content, stop, statistics, names)
                recording = content.recording
    if statistics is not None:
        _say_statistics(options, statistics, topics, names)
    return _end(options, shown, recording, names)


def _show(
    options: InspectOptions,
    source: Iterable[Seen | None],
    stop: StopSignal,
    statistics: Statistics | None,
    names: Mapping[int, str],
) -> int:
    wanted = Filter(options)
    shown = 0
    for seen in source:
        if stop.is_set:
            break
        if seen is None:
            # Nothing comes: whoever reads these lines has them all.
            sys.stdout.flush()
            continue
        if not wanted.admits(seen):
            continue
        shown += 1
        if seen.stream is not None and seen.stream in names:
            seen = replace(seen, name=names[seen.stream])
        if statistics is not None:
            statistics.take(seen)
        elif options.json:
            print(json.dumps(seen.as_object(), ensure_ascii=True))
        else:
            print(line(seen))
        if options.limit and shown >= options.limit:
            break
    return shown


def _end(options: InspectOptions, shown: int, recording: Source | None, names: Mapping[int, str]) -> int:
    """Whether a recording has everything; said of what was read of it."""
    if recording is None:
        if options.json:
            emit({"event": "summary", "messages": shown})
        return DONE
    # What was not read to its end says nothing of its losses.
    is_read = recording.damage is not None or recording.loss is not None or not options.limit
    is_complete = recording.is_complete if is_read else None
    if options.json:
        emit(
            {
                "event": "summary",
                "messages": shown,
                "complete": is_complete,
                "damage": recording.damage,
                "damaged_chunks": recording.damaged_chunks,
                "lost": [asdict(each) for each in recording.lost],
                "library": recording.library,
                "recording": recording.about,
                "loss": recording.loss,
            }
        )
    elif is_complete is False and not options.suggest:
        for text in why_incomplete(recording, names):
            print(clean(f"INCOMPLETE: {text}"))
    if options.strict and is_complete is False:
        raise RecordingIncomplete("; ".join(why_incomplete(recording, names)), path=options.source)
    return DONE


def _say_statistics(
    options: InspectOptions, statistics: Statistics, topics: TopicsSeen, names: Mapping[int, str]
) -> None:
    report = statistics.report(names)
    if topics.unseen:
        raise WrongUsage("--map names topics that the recording does not hold", found=", ".join(topics.unseen))
    if options.suggest:
        _suggest(options, report, topics)
    elif options.json:
        emit({"event": "statistics", **report, "topics": topics.report()})
    else:
        print_tables(report)
        if found := topics.report():
            print()
            print_topics(found, names)
        if topics.unmapped:
            print(f"Topics of other programs become streams by: {how_to_map(topics.unmapped)}")


def _suggest(options: InspectOptions, report: dict[str, Any], topics: TopicsSeen) -> None:
    text = suggest(report)
    if text:
        print(text, end="")
        return
    if topics.unmapped:
        what, hint = "topics of other programs, and none is mapped", f"Map some: {how_to_map(topics.unmapped)}"
    elif report["unread"]:
        what, hint = f"{report['unread']} messages cannot be read, the first: {report['first_problem']}", ""
    else:
        what, hint = "no frames", "Let the producers run meanwhile, or look with --stats."
    raise UnknownContent(f"there is nothing to join: {what}", path=options.source, hint=hint)
