# SPDX-License-Identifier: Apache-2.0
"""``make fuzz``: random bytes into the decoders; Python and Rust must agree on the value, or on the error's number.

Starts from the golden vectors. A disagreement, or anything but a numbered error, stops with the bytes in hex; put them
into ``tests/vectors/golden.toml`` or a unit test when mending it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import atheris

from tests.codec_probe import MANIFEST, PACKAGE, CodecProbe, any_outcome

with atheris.instrument_imports(include=["framegate.schema"]):
    import framegate.schema.control
    import framegate.schema.driver
    import framegate.schema.merge
    import framegate.schema.wire  # noqa: F401

from tests.vectors.golden import VECTORS


def main(arguments: Sequence[str]) -> int:
    """Fuzz for the seconds that are named."""
    seconds = int(arguments[0]) if arguments else 60
    build = ["cargo", "build", "--locked", "--quiet", *PACKAGE, "--manifest-path", str(MANIFEST)]
    subprocess.run(build, check=True)
    probe = CodecProbe(MANIFEST.parent / "target/debug/codec-probe")

    def agree(data: bytes) -> None:
        python, rust = any_outcome(data), probe.decode(data)
        assert python == rust, f"{data.hex()}: Python {python}, Rust {rust}"

    with tempfile.TemporaryDirectory() as corpus:
        for vector in VECTORS:
            Path(corpus, str(vector)).write_bytes(vector.data)
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", corpus], agree)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
