# SPDX-License-Identifier: Apache-2.0
"""One writer at a time."""

from contextlib import AbstractContextManager

from millrace import paths
from millrace.system import locks


def only_writer() -> AbstractContextManager[None]:
    """Hold /run/millrace/provision.lock; Refused if another process holds it. The lock dies with its holder."""
    sentence = "provisioning is already running; follow it with `journalctl -fu millrace-provision`"
    return locks.held(paths.run_dir() / "provision.lock", sentence)
