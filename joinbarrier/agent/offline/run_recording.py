# SPDX-License-Identifier: Apache-2.0
"""``framegate join --from``: run one join of a recording. No driver is needed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from framegate.joinbarrier.agent.join_report import closing, look_after, say_ready, serving
from framegate.joinbarrier.agent.offline.join_recording import RecordingJoin
from framegate.joinbarrier.agent.plan import journal_shape
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.recording.frames import Passage
from framegate.recording.requirements import require_contents
from framegate.recording.source import Source, open_source
from framegate.recording.topic_map import unserved
from framegate.schema.console.progress import progress
from framegate.schema.errors import DONE, WrongUsage
from framegate.shmpool.stop_signal import StopSignal

if TYPE_CHECKING:
    from framegate.joinbarrier.agent.run_join import JoinOptions

_log = logging.getLogger(__name__)


def run_recording(options: JoinOptions, config: JoinConfig, source: Path) -> int:
    """Join a recording. Returns the exit code."""
    if options.restore.wanted is not None and options.restore.store is None:
        raise WrongUsage("--restore with --from needs --checkpoints DIR: no coordinator says where they are")
    for warning in unserved(options.topics):
        _log.warning("%s", warning)
    with (
        StopSignal() as stop,
        _looked_at(options, config, source) as recording,
        JournalFolder(Path(config.join.journal), journal_shape(config), new_epoch=options.new_epoch) as folder,
        serving(options, config, folder) as server,
    ):
        stop.listen()
        passage = Passage(recording, options.topics, options.times)
        join = RecordingJoin(
            config, folder, passage, lambda: stop.is_set, options.restore, is_appended=options.is_appended
        )
        with closing(options, join, server):
            say_ready(options, join, server)
            with join.progress(as_json=options.json):
                while not stop.is_set and join.work():
                    look_after(server)
    return DONE


@contextmanager
def _looked_at(options: JoinOptions, config: JoinConfig, source: Path) -> Iterator[Source]:
    """Open the recording and check that it has what is asked of it, before anything is written."""
    with open_source(source) as recording:
        wanted = dict.fromkeys(each.stream for each in config.input if not each.optional)
        with progress(f"look into {source.name}", lambda: recording.at, recording.size, as_json=options.json):
            require_contents(recording, options.topics, wanted, options.times)
        yield recording
