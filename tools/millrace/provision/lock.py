# SPDX-License-Identifier: Apache-2.0
"""One writer at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from millrace import paths
from millrace.errors import Refused


@contextmanager
def only_writer() -> Iterator[None]:
    """Hold /run/millrace/provision.lock; Refused if another process holds it. The lock dies with its holder."""
    path = paths.run_dir() / "provision.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused(
                "provisioning is already running; follow it with `journalctl -fu millrace-provision`"
            ) from error
        yield
    finally:
        os.close(descriptor)
