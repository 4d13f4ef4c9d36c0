# SPDX-License-Identifier: Apache-2.0
"""The books: for every input and epoch, they compare what was published with what the journal says of it. Pure.

published = joined (at least once) + unmatched by cause + surplus + pending. A frame that breaks this, because it has no
fate or two, is a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from framegate.tools.audit.fates import Epoch, Fates
from framegate.tools.audit.published import Published
from framegate.tools.audit.ranges import Ranges
from framegate.tools.audit.retired import JOINED, Retired, is_inexact_for, sums


@dataclass(frozen=True, slots=True)
class Finding:
    """Frames of one epoch for which the books do not balance, and why."""

    input: str
    epoch: int
    first: int
    last: int
    what: str

    @property
    def frames(self) -> int:
        return self.last - self.first + 1


@dataclass(slots=True)
class Book:
    """The sums of one input, over all its epochs."""

    published: int | None = None
    joined: int = 0
    unmatched: Counter[str] = field(default_factory=Counter)
    surplus: int = 0
    pending: int = 0
    unexplained: int = 0
    findings: list[Finding] = field(default_factory=list)

    def find(self, name: str, epoch: int, frames: Ranges, what: str) -> None:
        """Record unexplained frames."""
        self.unexplained += len(frames)
        self.findings += [Finding(name, epoch, first, last, what) for first, last in frames.pairs]


def keep_books(fates: Fates, published: Published | None) -> dict[str, Book]:
    """The book of every input."""
    return {
        name: _book(fates, name, published if published and stream in published.streams() else None, stream)
        for name, stream in fates.description.inputs.items()
    }


def _book(fates: Fates, name: str, published: Published | None, stream: int) -> Book:
    book = Book(published=None if published is None else 0)
    known = fates.epochs[name]
    homeless: dict[int, Ranges] = {}
    for epoch in sorted({*known, *(published.epochs(stream) if published else ())}):
        found = known.get(epoch, Epoch())
        sent = _sent(published, stream, epoch, found)
        _count(book, name, epoch, found, sent)
        if sent is not None:
            assert book.published is not None  # noqa: S101  (for the type checker)
            book.published += len(sent)
            homeless[epoch] = sent - found.known
    _settle(book, fates.inexact.get(name, []), known, homeless)
    for epoch, frames in homeless.items():
        _place(book, fates, name, epoch, frames)
    for entry in fates.contradictory:
        if entry.input == name and entry.ranges is not None:
            book.unexplained += max(abs(entry.frames - len(entry.ranges)), 1)
            what = f"retention's account of {entry.fate} counts {entry.frames} frames, and its ranges hold others"
            book.findings.append(Finding(name, entry.epoch, entry.first, entry.last, what))
    return book


def _sent(published: Published | None, stream: int, epoch: int, found: Epoch) -> Ranges | None:
    if published is None:
        return None
    sent = published.frames.get((stream, epoch), Ranges())
    beyond = (found.joined - sent).above(sent.last) if sent and published.is_complete else Ranges()
    if beyond and beyond.first == beyond.last:
        # A producer was killed after it published a frame and before it wrote the line.
        sent |= beyond
    return sent if published.is_complete else sent | found.joined


def _count(book: Book, name: str, epoch: int, found: Epoch, sent: Ranges | None) -> None:
    """Count the frames that have a fate. Report those that have two, or were never published."""
    joined = found.joined if sent is None else found.joined & sent
    book.joined += len(joined)
    if sent is not None:
        book.find(name, epoch, found.joined - sent, "joined and never published")
    taken = joined
    for cause, frames in sorted(found.unmatched.items()):
        # An agent that was away knows only the sequences; some of them may never have been used.
        those = frames if sent is None else frames & sent
        book.find(name, epoch, those & taken, f"{cause}, and joined or unmatched for another cause")
        fresh = those - taken
        book.unmatched[cause] += len(fresh)
        taken |= fresh
    for what, frames in found.twice.items():
        book.find(name, epoch, frames, what)


def _settle(book: Book, entries: list[Retired], known: dict[int, Epoch], homeless: dict[int, Ranges]) -> None:
    """Match the accounts that have no ranges with frames.

    Such an account explains the frames that nothing else explains, if their number and sums agree. If they do not, the
    frames in rows that still exist are added, because a window may hold a frame in more than one row.
    """
    for entry in entries:
        if entry.fate == JOINED:
            book.joined += entry.frames
        else:
            book.unmatched[entry.fate] += entry.frames
    if not entries or book.published is None:
        return
    reach = {epoch: _reach(entries, epoch, homeless) for epoch in homeless}
    left = {epoch: frames.below(reach[epoch] + 1) for epoch, frames in homeless.items()}
    again = {epoch: known[epoch].joined.below(reach[epoch] + 1) for epoch in left if epoch in known}
    both = {epoch: frames | again.get(epoch, Ranges()) for epoch, frames in left.items()}
    wanted = (sum(entry.frames for entry in entries), *_sums_of(entries))
    if sums(both.values()) == wanted:
        book.joined -= sum(map(len, again.values()))
    elif sums(left.values()) != wanted:
        entry = entries[-1]
        there = sum(map(len, left.values()))
        book.unexplained += max(abs(there - wanted[0]), 1)
        what = f"retention's account has {wanted[0]} frames, and the books leave {there}, or others, for it"
        book.findings.append(Finding(entry.input, entry.epoch, entry.first, entry.last, what))
    for epoch, frames in left.items():
        homeless[epoch] -= frames


def _reach(entries: list[Retired], epoch: int, epochs: Iterable[int]) -> int:
    """The highest sequence of an epoch that accounts without ranges may count; -1 if there is none."""
    return max((entry.last for entry in entries if is_inexact_for(entry, epoch, epochs)), default=-1)


def _sums_of(entries: list[Retired]) -> tuple[int, int]:
    modulus = 1 << 64
    return sum(entry.sum for entry in entries) % modulus, sum(entry.squares for entry in entries) % modulus


def _place(book: Book, fates: Fates, name: str, epoch: int, frames: Ranges) -> None:
    """Find out for frames without a fate whether the agent could not hear them, or has not decided them yet."""
    known, cursor = fates.epochs[name], fates.cursors[name]
    heard = sorted({*(each for each in known if known[each].known), *([] if cursor.epoch is None else [cursor.epoch])})
    if not heard or epoch < heard[0]:
        book.surplus += len(frames)
        return
    found = known.get(epoch, Epoch()).known
    if epoch == heard[0] and found:
        before = frames.below(found.first)
        book.surplus += len(before)
        frames -= before
    if cursor.epoch is not None and epoch >= cursor.epoch:
        decided = cursor.decided if epoch == cursor.epoch else -1
        has_ended = cursor.has_ended and epoch == cursor.epoch
        _place_newest(book, fates, name, epoch, frames, decided=decided, has_ended=has_ended)
        return
    beyond = frames.above(found.last) if found else frames
    if _was_away(known, epoch):
        book.surplus += len(beyond)
        frames -= beyond
    book.find(name, epoch, frames, "no fate")


def _place_newest(
    book: Book, fates: Fates, name: str, epoch: int, frames: Ranges, *, decided: int, has_ended: bool
) -> None:
    """Do the same for an epoch that is not closed by the last state."""
    waiting = frames.above(decided)
    if not fates.description.is_closed:
        book.pending += len(waiting)
    else:
        found = fates.epochs[name].get(epoch, Epoch()).known
        waiting = Ranges() if has_ended else waiting.above(max(decided, found.last if found else -1))
        book.surplus += len(waiting)
    book.find(name, epoch, frames - waiting, "no fate")


def _was_away(known: dict[int, Epoch], epoch: int) -> bool:
    """Whether the agent may have been away after an epoch: none of its files has both this epoch and a later one."""
    files = (
        known[epoch].files if epoch in known else {file for each in known if each < epoch for file in known[each].files}
    )
    return not any(files & known[each].files for each in known if each > epoch)
