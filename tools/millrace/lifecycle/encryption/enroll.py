# SPDX-License-Identifier: Apache-2.0
"""Keys to the encrypted root file system: a recovery key for administrators, and the enrollment of the TPM.

systemd-cryptenroll adds the new key before it removes the previous one, each by a header that is replaced whole:
a power cut leaves one of them, or both. Secrets go through standard input and output; the recovery key is
written nowhere.
"""

from collections.abc import Callable

from millrace.lifecycle.encryption import root
from millrace.lifecycle.encryption.model import Bound, Encryption, RecoveryKey
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.files import write_text
from millrace.system.locks import held
from millrace.system.run import Result, Runner, last_words

LOCK = "encryption.lock"
BUSY = "the keys of the root file system are being changed; try again"
# The kernel image with what is in it (UAPI.7); systemd-measure signs its values.
KERNEL_REGISTER = 11
BY_TPM = "--unlock-tpm2-device=auto"
# the recovery key, which is on standard input
BY_KEY = "--unlock-key-file=/dev/stdin"


def new_recovery_key(run: Runner, replace: bool, typed: Callable[[], str]) -> RecoveryKey:
    """Make a recovery key and return it; with `replace` the previous one opens root no longer.

    `typed` returns the existing recovery key, and is asked where the TPM does not open root. Refused: root is not
    encrypted, there is one already, or none was typed where it is asked for. Failed: the header cannot be changed.
    """
    with held(paths.run_dir() / LOCK, BUSY):
        now = _encrypted(run)
        if now.recovery_key and not replace:
            raise Refused("there is a recovery key, which is not stored and cannot be shown again; --new replaces it")
        wiped = ["--wipe-slot=recovery"] if replace else []
        done = _enroll(run, now, ["--recovery-key", *wiped], typed)
        return RecoveryKey(key=done.out.strip(), replaced=now.recovery_key)


def bind(run: Runner, secure_boot: bool, typed: Callable[[], str]) -> Bound:
    """Let the TPM of this server open root; with `secure_boot` only while that is on, with the keys of today.

    `typed` as for `new_recovery_key`. Refused: root is not encrypted, the running system could not be bound to, or no
    recovery key was typed where it is asked for. Failed: the header cannot be changed.
    """
    with held(paths.run_dir() / LOCK, BUSY):
        now = _encrypted(run)
        if reason := root.without():
            raise Refused(f"the root file system cannot be bound to the TPM: {reason}")
        registers = str(root.SECURE_BOOT_REGISTER) if secure_boot else ""
        key = paths.ROOT / root.SIGNER
        asks = [f"--tpm2-pcrs={registers}", f"--tpm2-public-key={key}", f"--tpm2-public-key-pcrs={KERNEL_REGISTER}"]
        _enroll(run, now, ["--tpm2-device=auto", *asks, "--wipe-slot=tpm2"], typed)
        write_text(paths.run_dir() / root.CHANGED, "")
        return Bound(device=str(now.device), secure_boot=secure_boot)


def _encrypted(run: Runner) -> Encryption:
    now = root.show(run)
    if now.device is None:
        raise Refused("the root file system of this server is not encrypted")
    return now


def _enroll(run: Runner, now: Encryption, options: list[str], typed: Callable[[], str]) -> Result:
    """Run systemd-cryptenroll; the TPM unlocks the header, or the recovery key where it does not."""
    argv = ["systemd-cryptenroll", *options, str(now.device)]
    if now.bound and now.tpm:
        done = run([*argv[:-1], BY_TPM, argv[-1]])
        if done.status == 0:
            return done
        if not now.recovery_key:
            raise Failed(f"the TPM does not open the root file system: {last_words(done)}")
    if not now.recovery_key:
        raise Failed("neither a TPM nor a recovery key opens the root file system: reset this server to factory state")
    key = typed().strip()
    if not key:
        raise Refused("the TPM does not open the root file system now: the recovery key is required")
    done = run([*argv[:-1], BY_KEY, argv[-1]], key)
    if done.status != 0:
        raise Failed(f"the recovery key was not accepted, or the TPM refused: {last_words(done)}")
    return done
