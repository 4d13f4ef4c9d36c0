# SPDX-License-Identifier: Apache-2.0
"""``fg.local()``: a client with a driver in the background, and joins that run in this program."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from framegate.gate.joined import Joined
from framegate.gate.keywords import file_options, join_tables, toml_of
from framegate.gate.local_driver import LocalDriver
from framegate.gate.observing import Observed, Observer
from framegate.gate.run_folder import new_journal, remove_of_the_dead
from framegate.joinbarrier.agent.run_join import worded_overrides
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.schema.config.loading import Given, load
from framegate.schema.config.settings import ClientSettings, default_aeron_dir, load_client_settings
from framegate.schema.config.types import Context
from framegate.shmpool.client.client import Client, client_arguments

_JOURNAL_BYTES: Final = 1 << 30
_log = logging.getLogger(__name__)
_SEAL_MS: Final = 2
"""How long a row waits for others to be sealed with it: short, because the program reads rows at once."""


class Gate(Client):
    """The result of ``fg.local()``. It has the methods of a client, and ``join``, which joins in this program."""

    def __init__(self, driver: LocalDriver, settings: ClientSettings) -> None:
        self._driver = driver
        self._settings = settings
        self._joins: list[Joined] = []
        self._observers: dict[tuple[str | None, ...], Observer] = {}
        self._observing = threading.Lock()
        self._closing = threading.RLock()
        super().__init__(**client_arguments(settings))
        # If the program ends without ``close``, its journals get everything that was joined all the same.
        atexit.register(self._end)

    @property
    def base_dir(self) -> str:
        """The base directory, for programs that this one starts."""
        return self._settings.base_dir

    def join(
        self,
        *streams: str | os.PathLike[str],
        inputs: Mapping[str, Any] | None = None,
        every: str | float | None = None,
        **rules: Any,
    ) -> Joined:
        """Join streams in this program.

        The first stream drives the join. The others are joined by its sequences, or have a rule: ``right="offset -2"``,
        ``imu="nearest 10ms, once"``. ``inputs`` takes inputs with any name, as rules or as tables with the keys of
        ``[[input]]``. Every key of a join.toml is an option: ``journal="out/rows"`` names a directory that stays. With
        ``every="100ms"`` a clock drives the join. A single name that ends with ``.toml`` is a file:
        ``gate.join("join.toml", seal_ms=5)``.
        """
        if (file := toml_of(streams)) is not None:
            config = self._config(file, {}, file_options(file, inputs, rules, every=every))
            return self._kept(Joined(self, config, is_temporary=False))
        place = new_journal(self._settings.base_dir)
        tables = join_tables(streams, inputs, rules, journal=str(place), every=every)
        is_temporary = tables["join"]["journal"] == str(place)
        if is_temporary:
            tables["journal"] = _in_memory(self._settings.base_dir) | tables.get("journal", {})
        return self._kept(Joined(self, self._config(None, tables, {}), is_temporary=is_temporary))

    def observe(
        self, *streams: str, max_age_ms: float = 100.0, wait_s: float = 10.0, journal: str | None = None
    ) -> Observed:
        """The newest frame of each of these streams, together as one row that the journal keeps.

        The first call begins to listen, and waits up to ``wait_s`` for a frame of each stream. Raises ObservedTooOld,
        which names the input, if a newest frame is older than ``max_age_ms``.
        """
        with self._observing:
            observer = self._observers.get((*streams, journal))
            if observer is not None and observer.is_over:
                # The inputs of this observer had ended. They may have begun again.
                observer.close()
                observer = None
            if observer is None:
                observer = self._observers[*streams, journal] = Observer(self._latest(streams, journal))
        return observer.observe(max_age_ms, wait_s)

    def _latest(self, streams: tuple[str, ...], journal: str | None) -> Joined:
        options: dict[str, Any] = {"policy": "latest", "drive": "external:framegate.gate.observing:no_time"}
        options |= {"seal_rows": 1} | ({} if journal is None else {"journal": journal})
        place = new_journal(self._settings.base_dir)
        tables = join_tables(streams, None, options, journal=str(place), every=None)
        is_temporary = journal is None
        if is_temporary:
            tables["journal"] = _in_memory(self._settings.base_dir) | {"when_full": "drop_oldest"} | tables["journal"]
        return self._kept(Joined(self, self._config(None, tables, {}), is_temporary=is_temporary))

    def _config(self, path: Path | None, tables: Mapping[str, Any], options: Mapping[str, Any]) -> JoinConfig:
        given: dict[str, Given | None] = {**worded_overrides(tables)}
        given["client.base_dir"] = Given(self._settings.base_dir, "base_dir")
        given |= {key: Given(value, key) for key, value in options.items()}
        return load(JoinConfig, path, {}, given, context=Context(self.names.id_of))

    def _kept(self, joined: Joined) -> Joined:
        self._joins = [each for each in self._joins if not each.is_closed]
        self._joins.append(joined)
        return joined

    def close(self) -> None:
        """End the joins, give every lease back, and end the driver if it was started here. Idempotent."""
        if self.is_copy:
            # Everything goes on in the process that this one was forked from.
            return
        atexit.unregister(self._end)
        with self._closing, ExitStack() as ends:
            ends.callback(self._driver.close)
            ends.callback(super().close)
            # A join of another join's rows must end after it. One that fails does not keep the others from ending.
            for each in reversed(self._joins):
                ends.callback(each.close)

    def _end(self) -> None:
        try:
            self.close()
        except Exception as failure:
            _log.warning("%s", failure)

    def __exit__(self, kind: object = None, *exc: object) -> None:
        # If the block ends by an error of the program, that is the error to raise.
        self.close() if kind is None else self._end()

    def __repr__(self) -> str:
        whose = "another program's driver" if self._driver.pid is None else f"its own driver, pid {self._driver.pid}"
        return f"<Gate in {self._settings.base_dir}, with {whose}>"


def local(
    aeron_dir: str | None = None,
    base_dir: str | None = None,
    *,
    config: Path | str | None = None,
    wait_driver_s: float | None = None,
) -> Gate:
    """Everything in one program: a client with a driver in the background, its own or one that already runs.

    Options that are left out come from the environment and from ``config``, as for ``connect``.
    """
    settings = load_client_settings(
        os.environ,
        config=None if config is None else Path(config),
        aeron_dir=aeron_dir,
        base_dir=base_dir,
        wait_driver=wait_driver_s,
    )
    settings = settings.model_copy(update={"aeron_dir": settings.aeron_dir or default_aeron_dir(os.environ)})
    driver = LocalDriver(str(settings.aeron_dir), settings.base_dir, None if config is None else Path(config))
    try:
        remove_of_the_dead(settings.base_dir)
        return Gate(driver, settings)
    except BaseException:
        driver.close()
        raise


def _in_memory(base_dir: str) -> dict[str, Any]:
    """The options of a journal without a name: its rows are kept until the program's reader has read them."""
    most = min(_JOURNAL_BYTES, shutil.disk_usage(base_dir).free // 4)
    return {"max_bytes": most, "when_full": "block", "seal_ms": _SEAL_MS}
