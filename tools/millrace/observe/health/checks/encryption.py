# SPDX-License-Identifier: Apache-2.0
"""Does the TPM open the encrypted root file system, and is there a recovery key for the day when it does not?"""

from millrace.lifecycle.encryption import root
from millrace.lifecycle.encryption.model import Need
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level

NAME = "encryption"
REBIND = "millrace encryption rebind"
RECOVERY = "millrace encryption recovery-key"


WARNINGS: dict[Need, tuple[str, str]] = {
    "tpm": (
        "This server has no TPM 2.0 now: each start asks for the recovery key of the root file system.",
        f"Turn the TPM on in the firmware setup; for another TPM: {REBIND}",
    ),
    "bound": (
        "The TPM of this server does not open the root file system: each start asks for the recovery key.",
        REBIND,
    ),
    "suspended": ("The TPM opens the root file system with Secure Boot off, too.", REBIND),
    "signer": (
        "The TPM asks for an earlier key of kernel images: later versions may ask for the recovery key.",
        REBIND,
    ),
    "recovery-key": (
        "Nobody has the recovery key of the root file system: with a new mainboard nothing opens it.",
        RECOVERY,
    ),
}
"""By what may keep root closed: the sentence of its warning, and the remedy."""


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with the keys of root, else one finding; none where the image is not signed for it."""
    now = root.show(host.query)
    if now.device is None and root.signer() is None:
        return []
    if now.device is None:
        sentence = f"The root file system is not encrypted: {now.without or 'it was made before this could be'}."
        return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]
    sentence = "The root file system is encrypted: the TPM of this server opens it, and a recovery key exists."
    return [_warn(need) for need in now.needs] or [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _warn(need: Need) -> HealthFinding:
    sentence, todo = WARNINGS[need]
    return HealthFinding(check=NAME, kind=need, level=Level.WARN, sentence=sentence, todo=todo)
