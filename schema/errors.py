# SPDX-License-Identifier: Apache-2.0
"""The one error tree: every failure has a number, the facts, and what to try.

Numbers are append-only: 1xx messages, 2xx pool, 3xx transport and media driver, 4xx joins and maps (42x and 43x their
journals, 44x journals from other hosts), 6xx checkpoints, 7xx Spark, 8xx recordings, 9xx configuration and
environment. The Rust core raises these same classes by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from framegate.schema.extras import how_to_install

DONE: Final = 0
FAILED: Final = 1
WRONG_USAGE: Final = 2
ENVIRONMENT: Final = 3


class FramegateError(Exception):
    """The root. A class with a ``code`` is a numbered error; one without is a family to catch.

    ``facts`` are what was wanted and what was found, with units in their names. ``hint`` says what to try.
    ``exit_code`` is what a command that ends with this error returns.

    >>> print(Truncated("the fixed block ends early", wanted_bytes=48, have_bytes=12))
    [FG-105 TRUNCATED] wanted_bytes=48 have_bytes=12: the fixed block ends early
    The message was cut, or its length field lies: look at the sender.
    """

    code: ClassVar[int] = 0
    name: ClassVar[str] = ""
    exit_code: ClassVar[int] = FAILED
    default_hint: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).upper()

    def __init__(self, message: str, /, *, hint: str | None = None, **facts: object) -> None:
        self.message = message
        self.facts = facts
        self.hint = self.default_hint if hint is None else hint
        super().__init__(message)

    def __str__(self) -> str:
        facts = " ".join(f"{key}={value}" for key, value in self.facts.items())
        first = f"[FG-{self.code:03} {self.name}] {facts + ': ' if facts else ''}{self.message}"
        return f"{first}\n{self.hint}" if self.hint else first

    def __reduce__(self) -> tuple[object, ...]:
        # Spark and multiprocessing pickle errors; keyword facts would be lost by the default.
        return _rebuild, (type(self), self.message, self.hint, self.facts)


def _rebuild(kind: type[FramegateError], message: str, hint: str, facts: dict[str, object]) -> FramegateError:
    return kind(message, hint=hint, **facts)


def numbered() -> Iterator[type[FramegateError]]:
    """Every class with a number, in the order of the numbers."""
    found: list[type[FramegateError]] = []
    pending = [FramegateError]
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        if "code" in kind.__dict__ and kind.code:
            found.append(kind)
    yield from sorted(found, key=lambda kind: kind.code)


# --- 1xx: messages --------------------------------------------------------------------------------------


class MessageError(FramegateError):
    """A message that cannot be read, or a value that cannot be written."""


class WrongSchema(MessageError):
    """The message belongs to another schema: on a shared stream, skip it."""

    code = 101
    default_hint = "Streams carry several schemas: dispatch by schemaId, for instance with framegate.schema.decode_any."


class UnknownTemplate(MessageError):
    """The schema is known, its template is not."""

    code = 102
    default_hint = "The sender speaks a newer protocol, or this is another message: dispatch by templateId."


class UnsupportedVersion(MessageError):
    """The version is not one this decoder may read."""

    code = 103
    default_hint = "Schemas 901 and 903 must match in version: upgrade the older side."


class WrongBlockLength(MessageError):
    """The fixed block's length is not the one of this version."""

    code = 104
    default_hint = "The sender was generated from another schema file: compare both schema XMLs."


class Truncated(MessageError):
    """The buffer ends before the message does."""

    code = 105
    default_hint = "The message was cut, or its length field lies: look at the sender."


class LengthLimit(MessageError):
    """A length field is above the schema's maximum."""

    code = 106
    default_hint = "Lengths of variable data end at 1073741824 bytes: the message is corrupt."


class InvalidValue(MessageError):
    """A value that its field cannot hold: an unknown enum, a number out of range, text that is not ASCII."""

    code = 107
    default_hint = "docs/wire.md lists each field's type, null value and enum values."


class BufferTooSmall(MessageError):
    """The message does not fit the buffer it was to be written into."""

    code = 108
    default_hint = "Give encode_into a buffer of encoded_length() bytes from the offset on."


# --- 2xx: pool ------------------------------------------------------------------------------------------


class PoolError(FramegateError):
    """Shared-memory regions and the frames in them."""


class RegionRefused(PoolError):
    """A region file that must not be used: its path, its kind, its mode, its owner or its size."""

    code = 201
    default_hint = "Only files of this user inside the base directory are mapped: compare --base-dir on both sides."


class RegionMismatch(PoolError):
    """A region whose superblock contradicts what was announced."""

    code = 202
    default_hint = "The region belongs to another stream, epoch or layout: attach again for the present one."


class RegionBusy(PoolError):
    """Regions or a producer that cannot be used now, because another part of this process uses them."""

    code = 203
    default_hint = "Finish the open claim, or close the other user, first."


class SlotLapped(PoolError):
    """The frame was overwritten while it was being read, or before."""

    code = 204
    default_hint = "Enlarge the ring (`framegate driver --slots N`), copy earlier, or keep fewer views."


class FrameTooLarge(PoolError):
    """No pool of the stream has slots that large."""

    code = 205
    default_hint = "Start the driver with a larger `--frame-bytes B`, or give the stream a profile with a larger pool."


class WrongArray(PoolError):
    """An array that does not fit the frames of this producer. Nothing was written."""

    code = 206
    default_hint = "Give the producer this shape and dtype, or publish arrays of the ones it has."


class NotAttached(PoolError):
    """The producer or consumer has no regions at the moment."""

    code = 207
    default_hint = "The lease was lost or the driver is away; the client attaches again by itself when it can."


class AttachRefused(PoolError):
    """The driver refused the attach."""

    code = 208
    default_hint = (
        "The reason is the driver's own. Take a stream that it serves (in a replay: --map TOPIC=STREAM), or name this "
        "one in the driver's file: `framegate driver --help`."
    )


class DriverSilent(PoolError):
    """No lease driver answered."""

    code = 209
    exit_code = ENVIRONMENT
    default_hint = "Start one with: framegate driver"


class UriRefused(PoolError):
    """A region's URI that this program must not follow."""

    code = 210
    default_hint = "Only shm:file?path=/absolute/path, optionally with |require_hugepages=true or false, is followed."


class TooFewFrames(PoolError):
    """A stream ended before a consumer had as many frames as were asked for."""

    code = 211
    default_hint = (
        "Ask for no more than its producer sends; the summary says how many of them were lost on the way. A consumer "
        "that starts first and `--wait-consumers` at the producer lose none at the start."
    )


class StreamUnknown(PoolError):
    """A stream's name that stands for no number here."""

    code = 212
    exit_code = WRONG_USAGE
    default_hint = "Name one of the known streams, or give the stream's number."


class NoRoomForRing(AttachRefused):
    """The driver refused the attach, because the stream's ring finds no room."""

    code = 213
    exit_code = ENVIRONMENT
    default_hint = (
        "Free room where the driver keeps its rings, let it serve another --base-dir, or make rings smaller: a smaller "
        "--shape at the producer, fewer --slots at the driver."
    )


class LeaseDriverPresent(PoolError):
    """Another lease driver serves this base directory and namespace, or this media driver."""

    code = 220
    exit_code = ENVIRONMENT
    default_hint = "Use that one, or start this one with another --base-dir or shm.namespace."


class HugepagesMissing(PoolError):
    """Huge pages are required and the base directory has none."""

    code = 221
    exit_code = ENVIRONMENT
    default_hint = "Point --base-dir at a hugetlbfs mount, or set shm.require_hugepages = false."


# --- 3xx: transport and media driver --------------------------------------------------------------------


class TransportError(FramegateError):
    """Aeron, or the in-memory transport that stands in for it."""


class MediaDriverNotFound(TransportError):
    """No live media driver in the Aeron directory."""

    code = 301
    exit_code = ENVIRONMENT
    default_hint = "Start one with: framegate driver --aeron-dir DIR"


class MediaDriverGone(TransportError):
    """The media driver was there and stopped answering."""

    code = 302
    exit_code = ENVIRONMENT
    default_hint = "Every client of that driver is void: restart it with `framegate driver`, then connect again."


class MediaDriverFailed(TransportError):
    """The media driver program could not be started, or ended at once."""

    code = 303
    exit_code = ENVIRONMENT
    default_hint = "The driver's log file says why; `framegate doctor` looks at the usual causes."


class LocalDriverFailed(TransportError):
    """A program's own driver could not be started."""

    code = 314
    exit_code = ENVIRONMENT
    default_hint = "Start `framegate driver` by hand to see what it says; `framegate doctor` looks at the usual causes."


class ChannelRefused(TransportError):
    """The media driver refused a publication or subscription."""

    code = 304
    default_hint = "Look at the channel URI (aeron:ipc, aeron:udp?endpoint=host:port) and the stream id."


class MessageTooLong(TransportError):
    """A message longer than the channel takes."""

    code = 305
    default_hint = "Use a longer term (term-length=), or offer instead of claim: claims are bound to one fragment."


class TransportClosed(TransportError):
    """The publication, subscription or client was closed before."""

    code = 306
    default_hint = "Do not use it after close(), or outside its `with` block."


class AddTimedOut(TransportError):
    """The media driver did not answer a request to add a publication or subscription in time."""

    code = 307
    exit_code = ENVIRONMENT
    default_hint = "The driver is alive but slow: look at its log and at the machine's load."


class DriverDirectoryInUse(TransportError):
    """A live media driver already owns the directory."""

    code = 308
    exit_code = ENVIRONMENT
    default_hint = "Join it (it is shared by design), or choose another --aeron-dir."


class OfferFailed(TransportError):
    """A message could not be handed over within the bound, or never can be."""

    code = 309
    default_hint = (
        "The outcome says which: back_pressured means a subscriber is slow, not_connected that there is none."
    )


class ClientStalled(TransportError):
    """The media driver gave this client up, or its conductor found itself late: the process did not run."""

    code = 310
    default_hint = "The process was stopped, swapped out or starved longer than the time-out: connect again."


class ClaimStillViewed(TransportError):
    """A claim would be released while an array still views its memory in the log."""

    code = 311
    default_hint = "Keep arrays of a claim inside its `with` block, and leave the block before close()."


class ForeignFiles(TransportError):
    """The directory for the media driver holds files that no media driver made."""

    code = 312
    exit_code = ENVIRONMENT
    default_hint = "Choose an --aeron-dir that is empty or does not exist: a media driver removes its directory."


class MediaDriverForeign(TransportError):
    """The Aeron directory belongs to another user, or others may write into it."""

    code = 313
    exit_code = ENVIRONMENT
    default_hint = "Choose an --aeron-dir of this user: whoever may write the files there can end this process."


# --- 4xx: join ------------------------------------------------------------------------------------------


class JoinError(FramegateError):
    """Which frames belong together cannot be decided."""


class MapRefused(JoinError):
    """A MergeMap breaks a rule of the protocol. One bad rule refuses the whole map."""

    code = 401
    default_hint = "docs/wire.md 11.2 lists what a map may hold; the output is blocked until a valid map comes."


class ClockDomainRefused(JoinError):
    """A time belongs to another clock domain than the map's."""

    code = 402
    default_hint = "Stamp every input by the clock that the map declares (clock_domain), or declare the inputs' own."


class OutputTimeDecreased(JoinError):
    """An output was emitted for an earlier time than the one before it."""

    code = 403
    default_hint = "Ask ready() first: it refuses a time before the last that was emitted."


class TwoAuthorities(JoinError):
    """Somebody else announces a map for an output that is owned here."""

    code = 410
    default_hint = "One authority owns an output: end one of the two, or give it another out_stream or epoch."


class NoMapAnnounced(JoinError):
    """Nobody announced the map that was asked for."""

    code = 411
    default_hint = "Start its authority with: framegate mergemap serve join.toml"


class MapContradicted(JoinError):
    """The announced map of an output says otherwise than a key that is written in the join's own file."""

    code = 412
    exit_code = WRONG_USAGE
    default_hint = (
        "The announced map is the rule: leave the key out of the file, or serve the map from this file "
        "(framegate mergemap serve FILE, or serve = true)."
    )


class JournalError(JoinError):
    """The journal of a join: its files, and who writes and reads them."""


class JournalBusy(JournalError):
    """Another agent writes the journal."""

    code = 420
    exit_code = ENVIRONMENT
    default_hint = "Each agent has a journal of its own: stop the other agent, or name another directory."


class JournalMismatch(JournalError):
    """The directory holds a journal of another join."""

    code = 421
    exit_code = WRONG_USAGE
    default_hint = "Name another directory in [join] journal, or bring the configuration back to the journal's."


class InputRestarted(JoinError):
    """An input came back with a new epoch, and the join is told to stop then."""

    code = 422
    default_hint = 'Start the agent again, or set on_input_restart = "new_epoch" to go on with a new out_epoch.'


class InputRejected(JoinError):
    """An input of a join by time has timestamps that go back."""

    code = 424
    default_hint = (
        'Mend the clock of its producer, or give the input regressed = "drop": a frame whose timestamp goes back is '
        "then left out alone. With optional = true rows go on without the input."
    )


class JournalFailed(JournalError):
    """The journal can be written no further. What was sealed stays."""

    code = 423
    default_hint = "The message says what the system answered; `framegate journal verify` says what the journal holds."


class JournalFull(JournalError):
    """The journal of an offline join has no room for the recording's next row. What was sealed stays."""

    code = 427
    default_hint = "Raise [journal] max_bytes, or leave it out, and run the same command again: it goes on there."


class NoRows(JoinError):
    """Inputs had frames, and no row came of them."""

    code = 425
    default_hint = "`framegate mergemap check FILE` says in words what the file joins; --no-strict lets it be no error."


class FramesWithoutRoom(JoinError):
    """Frames of a recording waited for partners that come much later in it, and there was no memory for all of them."""

    code = 426
    default_hint = "Raise [join] pending_bytes, join on a machine with more memory, or narrow what is joined."


class JoinClosed(JoinError):
    """A join of this program was asked for what it no longer has, or what another loop reads."""

    code = 450
    default_hint = "Use it inside its `with` block, and read its rows in one place."


class ObservedNothing(JoinError):
    """An observation lacks an input: no frame of it came."""

    code = 451
    default_hint = "Look whether its producer runs, and under this name: `framegate inspect live`."


class ObservedTooOld(JoinError):
    """The newest frame of an input is older than the observation allows."""

    code = 452
    default_hint = "Look at its producer, or allow a larger max_age_ms."


class JournalMissing(JournalError):
    """There is no journal in that directory, or not yet."""

    code = 430
    default_hint = "Name the directory that holds journal.json; a join makes it when it starts."


class JournalDamaged(JournalError):
    """A file of the journal contradicts its format, another file, or its own check sum."""

    code = 431
    default_hint = "`framegate journal verify DIR` names the first inconsistency; what lies before it can be read."


class DataLoss(JournalError):
    """Rows were asked for that retention has dropped."""

    code = 432
    default_hint = 'Give the journal more max_bytes, or read with on_loss="skip" and count what was lost.'


class ReaderFenced(JournalError):
    """Another reader has claimed this reader's name."""

    code = 433
    default_hint = "One reader at a time holds a name: end the other one, or read under another name."


class ReaderNameRefused(JournalError):
    """A name that no reader can have."""

    code = 434
    exit_code = WRONG_USAGE
    default_hint = "A name is 1 to 64 letters, digits, dots, underscores and hyphens."


class JournalRecreated(JournalError):
    """The journal began anew while it was read: its rows count from 0 again."""

    code = 435
    default_hint = (
        "Open it again; rows of the old epoch lie under old-EPOCH, when they could be kept. A query begins a new "
        "checkpoint with startingOffsets = earliest: by default it begins behind the newest row, and rows are left out."
    )


class JournalNewer(JournalError):
    """The journal was written by a later format than this program reads."""

    code = 436
    default_hint = "Upgrade framegate here, or read with the version that wrote it."


class FlightError(JournalError):
    """A journal that is read from another host: its server, its address, and who may ask."""


class EndpointUnreachable(FlightError):
    """No server of journals answers at an address, or not within the time that was given."""

    code = 440
    default_hint = "Check that `framegate join --flight` or `framegate journal serve` runs there, at this port."


class TokenRefused(FlightError):
    """A request came without the server's token, or with another one."""

    code = 441
    default_hint = (
        "Give the server's token: the option tokenFile, or FRAMEGATE_FLIGHT_TOKEN where the query runs. "
        "A server on loopback that was given none keeps one for its own user: flight.token in its base directory."
    )


class TokenMissing(FlightError):
    """A server of journals would listen to other hosts without asking for a token, or what was named is none."""

    code = 442
    exit_code = WRONG_USAGE
    default_hint = (
        "Name a file with --token-file, or set FRAMEGATE_FLIGHT_TOKEN; without one only 127.0.0.1 may be bound."
    )


class CertificateRefused(FlightError):
    """The certificate of a server is not accepted: expired, for another host, or of an unknown authority."""

    code = 443
    default_hint = "Renew the certificate, or name its authority with caFile; `openssl x509 -text` shows what it says."


class JournalNotServed(FlightError):
    """A journal was asked for that the server does not serve."""

    code = 444
    default_hint = "Only the directories that the server was started with can be read from it."


class TicketRefused(FlightError):
    """A ticket, or the body of an action, that no client of this version writes."""

    code = 445
    default_hint = "The client is of another version, or no framegate: compare `framegate --version` on both hosts."


class TooManyStreams(FlightError):
    """A server of journals has as many open streams as it may have."""

    code = 446
    default_hint = "Ask again later, lower minPartitions, or start the server with more --streams."


class FlightFailed(FlightError):
    """A server of journals failed at a request, or answered what no server of this version does."""

    code = 447
    default_hint = "Look into the server's log, and compare `framegate --version` on both hosts."


class EndpointRefused(FlightError):
    """A text that is no address of a server of journals."""

    code = 448
    exit_code = WRONG_USAGE
    default_hint = (
        "An address is grpc://HOST:PORT, or grpc+tls://HOST:PORT, and /DIR behind it where several are served."
    )


class FlightNotStarted(FlightError):
    """A server of journals cannot listen: the port is taken, or its key and certificate do not fit."""

    code = 449
    exit_code = ENVIRONMENT
    default_hint = "Choose another port, or 0 for any; check --tls-cert and --tls-key."


# --- 6xx: checkpoints -----------------------------------------------------------------------------------


class CheckpointError(FramegateError):
    """Barriers, signals, and what they leave in the store."""


class AlignmentStateError(CheckpointError):
    """An aligner was asked for what does not belong at this point of its alignment."""

    code = 601
    default_hint = "After trigger_snapshot call complete_alignment() or abort(), and then give it the next barrier."


class OverlappingBarrier(CheckpointError):
    """A signal came while another one was still waited for."""

    code = 602
    default_hint = "One head allocates ids: let a signal reach every agent before the next is sent on that channel."


class DuplicateBarrier(CheckpointError):
    """A signal came more often than there are upstreams."""

    code = 603
    default_hint = "Compare expected_upstreams with the inputs; an upstream sends each signal once."


class BarrierInjectionFailed(CheckpointError):
    """A barrier cannot be sent: nobody is there to receive it any more."""

    code = 604
    default_hint = "The receiver has closed its end: abort the checkpoint, and start the agent again."


class CommandWordRefused(CheckpointError):
    """A file that is no command word, or cannot be used as one."""

    code = 605
    default_hint = "Name the file that the source was given; a source makes it anew when it is removed first."


class AtomicsMissing(CheckpointError):
    """This machine has no 128-bit atomic operations without a lock, so that a command could be seen by halves."""

    code = 606
    exit_code = ENVIRONMENT
    default_hint = "x86-64 with cmpxchg16b or any aarch64 has them: run sources of barriers on such a machine."


class CheckpointMissing(CheckpointError):
    """There is no such checkpoint: without a manifest it does not exist."""

    code = 610
    default_hint = "`framegate checkpoint ls DIR` lists those that there are."


class CheckpointDamaged(CheckpointError):
    """A file of a checkpoint contradicts its manifest, its format, or its check sum."""

    code = 611
    default_hint = "`framegate checkpoint verify DIR` names every damaged file; an older checkpoint may be whole."


class CheckpointExists(CheckpointError):
    """A checkpoint with that id is in the store already."""

    code = 612
    default_hint = "Ids are given out once: give every pipeline a directory of its own."


class CheckpointNewer(CheckpointError):
    """The checkpoint was written by a later format than this program reads."""

    code = 613
    default_hint = "Upgrade framegate here, or restore with the version that wrote it."


class StoreFailed(CheckpointError):
    """The store cannot be read or written."""

    code = 614
    default_hint = "The message says what the system answered; checkpoints that have a manifest stay valid."


class CheckpointMismatch(CheckpointError):
    """The checkpoint is of another join, or does not go with what is there."""

    code = 615
    exit_code = WRONG_USAGE
    default_hint = (
        "Bring the configuration back to the one it was taken with, name another checkpoint, "
        "or start without --restore."
    )


class StoreTaken(CheckpointError):
    """Another coordinator gives out the ids of this store, or another pipeline does."""

    code = 620
    default_hint = (
        "Give every pipeline a directory of its own (`dir` in `[checkpoint.NAME]`), and run one driver on it."
    )


class NoCoordinator(CheckpointError):
    """Nobody coordinates the checkpoints of this pipeline on this control stream."""

    code = 621
    exit_code = ENVIRONMENT
    default_hint = "Add `[checkpoint.NAME]` with a `dir` to the driver's configuration, or name another pipeline."


class CheckpointNotTaken(CheckpointError):
    """A checkpoint that was asked for was refused or given up, or took longer than the caller wanted to wait."""

    code = 622
    default_hint = "The message names who failed; `framegate checkpoint ls DIR` lists those that there are."


# --- 7xx: Spark -----------------------------------------------------------------------------------------


class SparkError(FramegateError):
    """The data source of PySpark: what a query asks for, and what it cannot have."""


class UnknownOption(SparkError):
    """An option that the source does not know."""

    code = 701
    exit_code = WRONG_USAGE
    default_hint = "Remove the option, or use the nearest known one; names are case-insensitive."


class WrongOption(SparkError):
    """An option with a value that it cannot have."""

    code = 702
    exit_code = WRONG_USAGE
    default_hint = "Give the option a value of the kind that the message names."


class MissingOption(SparkError):
    """An option without which nothing can be read."""

    code = 703
    exit_code = WRONG_USAGE
    default_hint = (
        'Name the journal: .option("path", "out/joined"), or several, separated by commas. '
        "A table of a catalog has none: write CREATE TEMPORARY VIEW joined USING framegate OPTIONS (path 'out/joined')"
    )


class ConflictingOptions(SparkError):
    """Options that are each allowed and cannot stand together, or not in this kind of query."""

    code = 704
    exit_code = WRONG_USAGE
    default_hint = "Change one of the options that the message names."


class WrongOffset(SparkError):
    """A text that is not an offset, or an offset of other journals than the query's."""

    code = 705
    default_hint = (
        "A checkpoint belongs to the journals that it was begun with: name the same paths, or begin a new checkpoint, "
        "with startingOffsets = earliest where no row may be left out."
    )


class JournalsDiffer(SparkError):
    """Journals of one query whose inputs are not the same."""

    code = 706
    exit_code = WRONG_USAGE
    default_hint = "Read these journals by a query each, and union the columns that they share."


class SchemaChanged(SparkError):
    """The journal has other columns than the query was planned with."""

    code = 707
    default_hint = (
        "Begin the query anew, with a new checkpoint, so that it is planned with the present columns; and with "
        "startingOffsets at the last row that it has done, or earliest: the default is to begin behind the newest row."
    )


class ReferenceOutlived(SparkError):
    """A reference to a payload that retention has dropped since."""

    code = 708
    default_hint = "Resolve references in the query that reads them, under a readerName, before the batch is committed."


class ReferenceRefused(SparkError):
    """A text that is no reference, or points outside its segment."""

    code = 709
    default_hint = 'References are made by the option payload="reference", and are used as they are.'


class PySparkMissing(SparkError):
    """PySpark is not installed, or too old."""

    code = 710
    exit_code = ENVIRONMENT
    default_hint = how_to_install("spark")


class WorkerPython(SparkError):
    """The Python of Spark's workers is not there, is another version, or has no framegate."""

    code = 711
    exit_code = ENVIRONMENT
    default_hint = "Set PYSPARK_PYTHON to this program's Python before the session starts."


class JavaMissing(SparkError):
    """No Java that can run Spark."""

    code = 712
    exit_code = ENVIRONMENT
    default_hint = "Install Java 17 or newer, or point JAVA_HOME at it."


class WrongResult(SparkError):
    """A user's function gave other columns than its schema declares."""

    code = 713
    default_hint = (
        "Give a tuple with a value for each column of the schema, a dict by their names, or a list of these; "
        "resolve_batches wants a list of values for each column. No row is an empty list."
    )


class SinkChanged(SparkError):
    """A batch has other columns than what its sink wrote before."""

    code = 714
    default_hint = "Write to another path, or give the batch the columns and types that are there."


class CatalogTable(SparkError):
    """A table of a catalog over a journal, which could be made and not be read."""

    code = 715
    exit_code = WRONG_USAGE
    default_hint = "Write: CREATE TEMPORARY VIEW joined USING framegate OPTIONS (path 'out/joined')"


# --- 8xx: recordings ------------------------------------------------------------------------------------


class RecordingError(FramegateError):
    """Recordings: making, reading and mending them."""


class RecordingExists(RecordingError):
    """The file that is to be made is there already."""

    code = 801
    exit_code = WRONG_USAGE
    default_hint = "Recordings are never written over: name another file, or remove this one first."


class RecordingMissing(RecordingError):
    """The file, or the folder it is to lie in, does not exist."""

    code = 802
    default_hint = "Look at the path; the folder of a recording must exist before it is made."


class RecordingDamaged(RecordingError):
    """The file is not one that can be read from here on: cut, overwritten, or never of this format."""

    code = 803
    default_hint = "`framegate record OUT.mcap --recover FILE` makes a whole recording of what can be read."


class RecordingFailed(RecordingError):
    """The recording could not be written any further. What was written before stays."""

    code = 804
    default_hint = "The message says what the system answered; `framegate inspect FILE` says what the file holds."


class RecordingIncomplete(RecordingError):
    """The recording lacks something that was sent."""

    code = 805
    default_hint = "`framegate inspect FILE --stats` lists what is missing and why; without --strict this is no error."


class UnknownContent(RecordingError):
    """Bytes that are neither a recording, nor a message, nor part of a region."""

    code = 806
    default_hint = (
        "MCAP files, raw SBE messages (900, 901, 903, 920), dumps of them, superblocks and slots can be inspected."
    )


class OtherFileKind(RecordingDamaged):
    """The file is of another kind: it neither begins as an MCAP file or a dump, nor holds anything of one."""

    code = 807
    exit_code = WRONG_USAGE
    default_hint = (
        "MCAP files and dumps of raw messages are read; a file of another kind has to be converted to MCAP first."
    )


class TopicMissing(RecordingError):
    """A topic or a stream was asked for that the recording does not have."""

    code = 808
    exit_code = WRONG_USAGE
    default_hint = "`framegate inspect FILE --stats` lists its topics; --map TOPIC=STREAM says which stream a topic is."


class ReplayHeldUp(RecordingError):
    """A replay at full speed waits for a consumer that never says what it has seen."""

    code = 809
    default_hint = "End that consumer, or replay with --speed 1, which waits for nobody."


class DecoderMissing(RecordingError):
    """The library that reads such recordings or messages is not installed."""

    code = 810
    exit_code = ENVIRONMENT
    default_hint = how_to_install("ros", "protobuf")


class StampMissing(RecordingError):
    """The messages of a topic do not say when they were made, and their own times were asked for."""

    code = 811
    exit_code = WRONG_USAGE
    default_hint = "Leave --time header out: all messages have the log's time then. Or leave the topic out of --map."


# --- 9xx: configuration and environment -----------------------------------------------------------------


class ConfigurationError(FramegateError):
    """Something the user wrote, in a file, the environment or on the command line."""

    exit_code = WRONG_USAGE


class UnknownKey(ConfigurationError):
    """A key that nothing reads."""

    code = 901
    default_hint = "Remove the key, or use the nearest known one."


class WrongType(ConfigurationError):
    """A value of the wrong type or outside its range."""

    code = 902
    default_hint = "Change the value to the type and range that the message names."


class InvalidToml(ConfigurationError):
    """The file is not TOML."""

    code = 903
    default_hint = "Mend the line that the message names."


class FileMissing(ConfigurationError):
    """A file that was named and cannot be read."""

    code = 904
    default_hint = "Check the path and its permissions."


class MissingKey(ConfigurationError):
    """A key that has no default and was not given."""

    code = 905
    default_hint = "Add the key to the table that the message names."


class ConflictingKeys(ConfigurationError):
    """Values that are each allowed and cannot stand together."""

    code = 906
    default_hint = "Change one of the two keys that the message names."


class WrongUsage(ConfigurationError):
    """A command line that no command takes."""

    code = 907
    default_hint = "Add --help to the command to see its options."


class EnvironmentProblem(FramegateError):
    """Something the machine lacks."""

    exit_code = ENVIRONMENT


class NoRoom(EnvironmentProblem):
    """Not enough room in the file system."""

    code = 921
    default_hint = "Free room there, or point the directory option somewhere else."


class NoPermission(EnvironmentProblem):
    """The directory cannot be used by this user."""

    code = 922
    default_hint = "Choose a directory that this user may write to, or mend its mode."


class DemoFailed(FramegateError):
    """The demo's processes did not do what they were to show."""

    code = 930
    default_hint = "Run it with --keep DIR and FRAMEGATE_LOG=debug for its logs, and see `framegate doctor`."


class DemoWrong(FramegateError):
    """What the demo's query found is not what its cameras sent, or frames are missing without a cause."""

    code = 931
    default_hint = "This should never happen: run it again with --keep DIR, and report it with the contents of DIR."


class RigCycle(FramegateError):
    """Parts of a rig wait for each other in a circle."""

    code = 940
    exit_code = WRONG_USAGE
    default_hint = "Take a name out of `after` or `after_end` of one of them, or let a join read another stream."


class RigPresent(EnvironmentProblem):
    """Another rig runs with this base directory."""

    code = 941
    default_hint = "See it with `framegate status`, end it with `framegate down`, or give this one another --base-dir."


class RigMissing(EnvironmentProblem):
    """No rig runs, or ran, with this base directory."""

    code = 942
    default_hint = "Start one with `framegate up rig.toml`; --base-dir says which rig is meant."


class PortTaken(EnvironmentProblem):
    """A server of a rig cannot listen where it is to."""

    code = 943
    default_hint = "End the program that listens there (`ss -ltnp` names it), or write another port in `listen`."


class JournalNotMade(FramegateError):
    """A part of a rig reads a journal that is not there, and that no join of the rig makes."""

    code = 944
    exit_code = WRONG_USAGE
    default_hint = "Name the join that makes it (`joins = [...]`), or run that join first."


class PartFailed(FramegateError):
    """A part of a rig failed, and its rule starts it no more."""

    code = 945
    default_hint = "`framegate logs NAME` has what it said; `restart`, `restarts_max` and `on_failed` say what follows."


class ProgramMissing(EnvironmentProblem):
    """A program that a part of a rig is to run is not there."""

    code = 946
    default_hint = "Install it, or write its path: programs are looked for on the PATH, files in the rig's folder."


class Interrupted(FramegateError):
    """The user ended a command before its work was done."""

    code = 998
    default_hint = "Run it again; what it had finished by then is kept."


class Internal(FramegateError):
    """A defect of framegate: something was raised that nobody expected there."""

    code = 999
    default_hint = "Run it again with FRAMEGATE_LOG=debug for the traceback, and report it with that."
