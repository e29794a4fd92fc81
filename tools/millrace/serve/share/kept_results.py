# SPDX-License-Identifier: Apache-2.0
"""The last verification of each share, in /var/lib/millrace/verified.json: shown until the next one."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from millrace.serve.share.model import KeptVerification, KeptVerifications, ShareVerification
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import MillraceError


def keep(results: Sequence[ShareVerification]) -> None:
    """Record verifications of now, beside those of other shares. They count for themselves where that fails."""
    if not results:
        return
    now = datetime.now(UTC).isoformat(timespec="seconds")
    names = {result.name for result in results}
    others = [kept for kept in _read() if kept.result.name not in names]
    new = [KeptVerification(at=now, result=result) for result in results]
    with suppress(OSError):
        write_model(paths.verified_file(), KeptVerifications(verifications=[*others, *new]))


def kept(names: Collection[str]) -> list[KeptVerification]:
    """Return the last verification of each of these shares that was verified."""
    return [verification for verification in _read() if verification.result.name in names]


def _read() -> list[KeptVerification]:
    # the next verification writes it again
    with suppress(MillraceError, OSError):
        return read_model(paths.verified_file(), KeptVerifications).verifications
    return []
