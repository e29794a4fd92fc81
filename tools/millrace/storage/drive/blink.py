# SPDX-License-Identifier: Apache-2.0
"""Read from a drive for a second and pause for a second, so that its activity LED blinks.

millrace-locate@.service runs this and the verb only waits: where the drive does not answer, this process hangs, which
no signal may end, and only this one. It imports next to nothing.
"""

import mmap
import os
import signal
import sys
import time
from contextlib import suppress
from threading import Event

from millrace.system import paths

BLOCK = 4096
# Another place each time: nothing answers but the drive.
STRIDE = 257 * BLOCK
# Reads a second; every one of them lights the LED for a moment, and clients do not notice.
PAUSE = 0.02
HALF = 1.0


def main(argv: list[str]) -> None:
    """Run `blink NAME:SECONDS` for the kernel name of a drive. OSError: it cannot be opened."""
    name, _, seconds = argv[0].partition(":")
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    blink(name, float(seconds), stop)


def blink(name: str, seconds: float, stop: Event) -> None:
    """Read from a drive in every other second, for so many seconds or until `stop`. OSError: it cannot be opened."""
    device = os.open(paths.ROOT / "dev" / name, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        blocks = max(os.lseek(device, 0, os.SEEK_END) // BLOCK, 1)
        end, place = time.monotonic() + seconds, 0
        with mmap.mmap(-1, BLOCK) as page:
            while not stop.is_set() and time.monotonic() < end:
                until = min(time.monotonic() + HALF, end)
                while not stop.wait(PAUSE) and time.monotonic() < until:
                    place = (place + STRIDE) % (blocks * BLOCK)
                    # a block that cannot be read lights the LED, too
                    with suppress(OSError):
                        os.preadv(device, [page], place)
                stop.wait(min(HALF, max(end - time.monotonic(), 0)))
    finally:
        os.close(device)


if __name__ == "__main__":
    main(sys.argv[1:])
