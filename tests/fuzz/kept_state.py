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
    found = state(data)
    trusted(found)
    for files in (found.readable(), left(found.readable(), KINDS)):
        without_secrets(found.manifest.members, files)
        with suppress(MillraceError):
            restore.config_of(found.manifest, files)
    if found.manifest.seal is not None:
        with suppress(MillraceError):
            found.opened(KeyFile(seal=found.manifest.seal, key="00" * 32))
    restore.verify(found.manifest, found.readable())
