# SPDX-License-Identifier: Apache-2.0
"""A client of gRPC by hand, which sends a request that does not end. No library would make one."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Final, Self

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_ACK: Final = 0x1
_END_HEADERS: Final = 0x4
_HEADER: Final = struct.Struct(">HBBBI")
_INITIAL_WINDOW: Final = 4
_STREAM: Final = 1
_FRAME_BYTES: Final = 16 << 10
_MESSAGE_BYTES: Final = 2**31 - 1
_WATCHDOG_S: Final = 30


class EndlessRequest:
    """Begins a call of a method with one argument; ``send`` goes on with that."""

    def __init__(self, port: int, method: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_WATCHDOG_S)
        self._windows = {0: 65_535, _STREAM: 65_535}
        self._initial = 65_535
        self._socket.sendall(_PREFACE + _frame(_SETTINGS, 0, 0, b""))
        names = {
            ":method": "POST",
            ":scheme": "http",
            ":path": f"/arrow.flight.protocol.FlightService/{method}",
            ":authority": "x",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        block = b"".join(b"\0" + _text(name) + _text(value) for name, value in names.items())
        self._socket.sendall(_frame(_HEADERS, _END_HEADERS, _STREAM, block))
        self._begun = False

    def send(self, size: int) -> None:
        """So many more bytes of the argument, as the server has room for them. Raises OSError once it is ended."""
        data = bytes(size) if self._begun else b"\0" + struct.pack(">I", _MESSAGE_BYTES) + bytes(size - 5)
        self._begun = True
        while data:
            while (room := min(*self._windows.values(), _FRAME_BYTES)) <= 0:
                self._hear()
            part, data = data[:room], data[room:]
            self._socket.sendall(_frame(_DATA, 0, _STREAM, part))
            for window in self._windows:
                self._windows[window] -= len(part)

    def is_ended(self) -> bool:
        """Wait until the server says no more; whether the connection has ended."""
        try:
            while True:
                self._hear()
        except (ConnectionError, EOFError):
            return True

    def _hear(self) -> None:
        high, low, kind, flags, stream = _HEADER.unpack(self._exactly(_HEADER.size))
        body = self._exactly(high << 8 | low)
        if kind == _WINDOW_UPDATE:
            self._windows[stream] += struct.unpack(">I", body)[0]
        elif kind == _SETTINGS and not flags & _ACK:
            for number, value in struct.iter_unpack(">HI", body):
                if number == _INITIAL_WINDOW:
                    self._windows[_STREAM] += value - self._initial
                    self._initial = value
            self._socket.sendall(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            self._socket.sendall(_frame(_PING, _ACK, 0, body))

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self._socket.recv(size - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._socket.close()


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return _HEADER.pack(len(body) >> 8, len(body) & 0xFF, kind, flags, stream) + body


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()
