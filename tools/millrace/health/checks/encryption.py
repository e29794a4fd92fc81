# SPDX-License-Identifier: Apache-2.0
"""Does the TPM open the encrypted root file system, and is there a recovery key for the day when it does not?"""

from millrace.encryption import root
from millrace.encryption.model import Encryption
from millrace.health.host import Host
from millrace.health.model import Finding, Level

NAME = "encryption"
REBIND = "millrace encryption rebind"
RECOVERY = "millrace encryption recovery-key"


def check(host: Host) -> list[Finding]:
    """Return what is wrong with the keys of root, else one finding; none where the image is not signed for it."""
    now = root.show(host.query)
    if now.device is None and root.signer() is None:
        return []
    if now.device is None:
        sentence = f"The root file system is not encrypted: {now.without or 'it was made before this could be'}."
        return [Finding(check=NAME, level=Level.OK, sentence=sentence)]
    found = [*_tpm(now), *_recovery(now)]
    sentence = "The root file system is encrypted: the TPM of this server opens it, and a recovery key exists."
    return found or [Finding(check=NAME, level=Level.OK, sentence=sentence)]


def _tpm(now: Encryption) -> list[Finding]:
    if not now.tpm:
        sentence = "This server has no TPM 2.0 now: each start asks for the recovery key of the root file system."
        todo = f"Turn the TPM on in the firmware setup; for another TPM: {REBIND}"
        return [_warn("tpm", sentence, todo)]
    if not now.bound or now.opened is False:
        sentence = "The TPM of this server does not open the root file system: each start asks for the recovery key."
        return [_warn("bound", sentence, REBIND)]
    if not now.secure_boot:
        sentence = "The TPM opens the root file system with Secure Boot off, too."
        return [_warn("suspended", sentence, REBIND)]
    if not now.signer:
        sentence = "The TPM asks for an earlier key of kernel images: later versions may ask for the recovery key."
        return [_warn("signer", sentence, REBIND)]
    return []


def _recovery(now: Encryption) -> list[Finding]:
    if now.recovery_key:
        return []
    sentence = "The root file system has no recovery key: with a new mainboard nothing opens it."
    return [_warn("recovery-key", sentence, RECOVERY)]


def _warn(kind: str, sentence: str, todo: str) -> Finding:
    return Finding(check=NAME, kind=kind, level=Level.WARN, sentence=sentence, todo=todo)
