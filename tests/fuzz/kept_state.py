# SPDX-License-Identifier: Apache-2.0
"""What a kept state has, as it is shown and verified before an adoption: the writer of the drives chose it."""

from contextlib import suppress

from millrace.lifecycle.adopt import restore
from millrace.lifecycle.keep.model import KeyFile
from millrace.lifecycle.keep.trust import KINDS, left, trusted, without_secrets
from millrace.system.errors import MillraceError
from tests.fuzz.states import state


def check(data: bytes) -> None:
    """Look at the state in the input, which is verified last: only what is shown needs no more."""
    kept = state(data)
    trusted(kept)
    for files in (kept.readable(), left(kept.readable(), KINDS)):
        without_secrets(kept.manifest.members, files)
        with suppress(MillraceError):
            restore.config_of(kept.manifest, files)
    if kept.manifest.seal is not None:
        with suppress(MillraceError):
            kept.opened(KeyFile(seal=kept.manifest.seal, key="00" * 32))
    restore.verify(kept.manifest, kept.readable())
