# SPDX-License-Identifier: Apache-2.0
"""Servers on loopback without a token of their own: their user's clients read, and nobody else's."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.client import JournalClient
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.local_token import NAME, found_token_file, made_token_file, own_token
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.schema.errors import NoPermission, TokenRefused

from tests.other_user import as_other, give_to_other, needs_root
from tests.unit.joinbarrier.flight.server_process import serving
from tests.unit.joinbarrier.journal.journal_world import segments_of


def environment(base: Path) -> dict[str, str]:
    return {"FRAMEGATE_BASE_DIR": str(base)}


def test_a_token_is_made_once_for_its_user_alone(tmp_path: Path) -> None:
    here = environment(tmp_path / "base")
    assert found_token_file(here) is None
    assert own_token(here) is None
    made = made_token_file(here)
    text = made.read_text()
    assert (made, made.stat().st_mode & 0o777) == (tmp_path / "base" / NAME, 0o600)
    assert len(text.strip()) == 64
    assert (made_token_file(here), found_token_file(here), made.read_text()) == (made, made, text)
    assert [each.name for each in made.parent.iterdir()] == [NAME]


def _make(base: Path, result: multiprocessing.Queue[str]) -> None:
    result.put(made_token_file(environment(base)).read_text())


def test_servers_that_start_at_once_have_one_token(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    result = context.Queue()
    makers = [context.Process(target=_make, args=(tmp_path / "base", result)) for _ in range(8)]
    for maker in makers:
        maker.start()
    assert len({result.get(timeout=30) for _ in makers}) == 1
    for maker in makers:
        maker.join()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_what_others_may_read_is_no_token(tmp_path: Path, mode: int) -> None:
    here = environment(tmp_path)
    made_token_file(here).chmod(mode)
    assert found_token_file(here) is None
    with pytest.raises(NoPermission, match="no secret"):
        made_token_file(here)


@needs_root
def test_another_users_file_or_folder_is_not_used(tmp_path: Path) -> None:
    here = environment(tmp_path / "base")
    made = made_token_file(here)
    give_to_other(made)
    assert found_token_file(here) is None
    made.unlink()
    give_to_other(made.parent)
    with pytest.raises(NoPermission, match="belongs to user"):
        made_token_file(here)


@needs_root
def test_another_user_finds_no_token(tmp_path: Path) -> None:
    here = environment(tmp_path / "base")
    made_token_file(here)
    for each in (tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o755)

    def look() -> None:
        assert found_token_file(here) is None

    as_other(look)


def test_a_server_on_loopback_answers_its_own_user_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments_of(folder, [1])
    with serving(folder) as server:
        token_file = server.says["token_file"]
        assert token_file == str(tmp_path / "base" / NAME)
        endpoint = Endpoint.parse(server.endpoint)
        with JournalClient(endpoint, Access()) as client:
            assert client.ask("describe")["journals"]
        monkeypatch.setenv("FRAMEGATE_BASE_DIR", str(tmp_path / "elsewhere"))
        with JournalClient(endpoint, Access()) as client, pytest.raises(TokenRefused, match="no token"):
            client.ask("describe")
        with JournalClient(endpoint, Access(token_file=token_file)) as client:
            assert client.ask("describe")["journals"]


def test_executors_get_the_name_of_the_file_that_the_query_found(tmp_path: Path) -> None:
    def named(endpoint: str, **options: str) -> str | None:
        access = SourceOptions.parse({"endpoint": endpoint, **options}).access
        assert access is not None
        return access.token_file

    assert named("grpc://127.0.0.1:7443") is None
    made = str(made_token_file(environment(tmp_path / "base")))
    assert named("grpc://127.0.0.1:7443") == made
    assert named("grpc://127.0.0.1:7443", tokenFile="/run/token") == "/run/token"
    assert named("grpc+tls://rig-7:7443") is None
    assert named("grpc://127.0.0.1:7443,grpc+tls://rig-7:7443") is None
