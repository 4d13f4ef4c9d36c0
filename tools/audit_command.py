# SPDX-License-Identifier: Apache-2.0
"""The command ``framegate audit``: it prints the result of the audit, and turns its errors into numbered ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from framegate.schema.console.command_options import JsonOption
from framegate.schema.errors import DONE, FAILED, FileMissing, JournalDamaged, JournalMissing, WrongUsage

if TYPE_CHECKING:
    from framegate.tools.audit.auditing import Audit

_SHOWN: Final = 100
"""How many findings are printed. The summary counts all of them."""


def audit(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="The journal's directory.", show_default=False)],
    sent: Annotated[
        list[Path] | None,
        typer.Option("--sent", metavar="CSV", help="A log of `produce --sent-log`; may be given repeatedly."),
    ] = None,
    recording: Annotated[
        Path | None, typer.Option("--recording", metavar="IN.mcap", help="A recording of the inputs.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Keep the books of a join: what became of every published frame. Exit code 1 where one has no fate, or two."""
    from framegate.schema.console.progress import progress
    from framegate.schema.console.reporting import emit
    from framegate.tools.audit.auditing import keep
    from framegate.tools.audit.tables import AuditError, NoJournal, NoSuchFile, OtherFile

    try:
        found = keep(journal, sent or [], recording, partial(progress, as_json=as_json))
    except NoJournal:
        raise JournalMissing("there is no journal", path=journal.absolute()) from None
    except NoSuchFile as missing:
        raise FileMissing(str(missing)) from missing
    except OtherFile as other:
        raise WrongUsage(str(other)) from other
    except AuditError as broken:
        raise JournalDamaged(str(broken)) from broken
    if as_json:
        for each in found.findings[:_SHOWN]:
            what = {
                "input": each.input,
                "epoch": each.epoch,
                "seq": each.first,
                "seq_last": each.last,
                "what": each.what,
            }
            emit({"event": "unexplained", **what})
        emit(found.summary)
    else:
        _print(found)
    return FAILED if found.unexplained else DONE


def _print(found: Audit) -> None:
    from framegate.schema.console.quantities import count
    from framegate.schema.console.terminal import print_table

    causes = sorted({cause for book in found.books.values() for cause, frames in book.unmatched.items() if frames})
    lines = []
    for name, book in found.books.items():
        unmatched = [count(book.unmatched[cause]) for cause in causes]
        rest = map(count, (book.surplus, book.pending, book.unexplained))
        lines.append([name, count(book.published), count(book.joined), *unmatched, *rest])
    print_table(("input", "published", "joined", *causes, "surplus", "pending", "unexplained"), lines)
    if any(book.published is None for book in found.books.values()):
        print("published: not known; give --sent or --recording")
    for each in found.findings[:_SHOWN]:
        frames = f"frame {each.first}" if each.first == each.last else f"frames {each.first} to {each.last}"
        print(f"unexplained: {each.input}, epoch {each.epoch}, {frames}: {each.what}")
    if len(found.findings) > _SHOWN:
        print(f"and {count(len(found.findings) - _SHOWN)} more")
    for note in found.notes:
        print(f"note: {note}")
    print("every frame is explained" if not found.unexplained else f"{count(found.unexplained)} frames are unexplained")
