# SPDX-License-Identifier: Apache-2.0
"""Keys to the encrypted root file system: a recovery key for administrators, and the enrollment of the TPM.

The TPM opens root in the initrd alone, so that another system on this server cannot have it opened: changes here take
the recovery key. The first one, and one in place of a lost one, is made in the initrd (seal-root) in each boot until it
was read, and waits in memory. systemd-cryptenroll adds the new key before it removes the previous one, each by a header
that is replaced whole: a power cut leaves one of them, or both. Secrets go through standard input and output; the
recovery key is written nowhere.
"""

from collections.abc import Callable

from millrace.lifecycle.encryption import root
from millrace.lifecycle.encryption.model import Bound, Encryption, RecoveryKey
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.files import sync, write_text
from millrace.system.locks import held
from millrace.system.os_release import image_version
from millrace.system.run import Result, Runner, last_words

LOCK = "encryption.lock"
BUSY = "the keys of the root file system are being changed; try again"
# The kernel image with what is in it (UAPI.7); systemd-measure signs its values.
KERNEL_REGISTER = 11
# the recovery key, which is on standard input
BY_KEY = "--unlock-key-file=/dev/stdin"
MADE_IN_THE_INITRD = "run/millrace-recovery-key"
AT_RESTART = "`millrace encryption recovery-key --at-restart`, restart the server, `millrace encryption recovery-key`"


def new_recovery_key(run: Runner, replace: bool, typed: Callable[[], str]) -> RecoveryKey:
    """Return the recovery key that this boot made, once; with `replace` make one, and the previous one ends.

    `typed` returns the existing recovery key. Refused: root is not encrypted, there is a recovery key already, this
    boot made none, or none was typed. Failed: the header cannot be changed.
    """
    with held(paths.run_dir() / LOCK, BUSY):
        now = _encrypted(run)
        if waiting := _waiting():
            # before it is shown: a power cut must not replace a key that was written down
            root.wanted_file().unlink(missing_ok=True)
            sync(paths.state_dir())
            (paths.ROOT / MADE_IN_THE_INITRD).unlink()
            return RecoveryKey(key=waiting, replaced=False)
        if now.recovery_key and not replace:
            raise Refused(
                "there is a recovery key, which is not stored and cannot be shown again; --new replaces it; "
                f"if it is lost: {AT_RESTART}"
            )
        done = _enroll(run, now, ["--recovery-key", "--wipe-slot=recovery"], typed)
        return RecoveryKey(key=done.out.strip(), replaced=True)


def recovery_key_at_restart(run: Runner) -> RecoveryKey:
    """Have the next start make a recovery key, in place of one that is lost. Refused: root is not encrypted."""
    with held(paths.run_dir() / LOCK, BUSY):
        now = _encrypted(run)
        write_text(root.wanted_file(), f"{image_version()}\n")
        return RecoveryKey(key=None, replaced=now.recovery_key)


def bind(run: Runner, secure_boot: bool, typed: Callable[[], str]) -> Bound:
    """Let the TPM of this server open root; with `secure_boot` only while that is on, with the keys of today.

    `typed` as for `new_recovery_key`. Refused: root is not encrypted, the running system could not be bound to, there
    is no recovery key, or none was typed. Failed: the header cannot be changed.
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


def _waiting() -> str | None:
    """Return the recovery key that the initrd of this boot made, if nobody has read it yet."""
    try:
        return (paths.ROOT / MADE_IN_THE_INITRD).read_text().strip() or None
    except OSError:
        return None


def _enroll(run: Runner, now: Encryption, options: list[str], typed: Callable[[], str]) -> Result:
    """Run systemd-cryptenroll, which the recovery key lets in."""
    if _waiting():
        raise Refused("the recovery key was not read yet: run `millrace encryption recovery-key` first")
    if not now.recovery_key:
        raise Refused(f"the root file system has no recovery key, which this takes: {AT_RESTART}")
    key = typed().strip()
    if not key:
        raise Refused("the recovery key is required: the TPM opens the root file system during the start only")
    done = run(["systemd-cryptenroll", *options, BY_KEY, str(now.device)], key)
    if done.status != 0:
        raise Failed(f"the recovery key was not accepted, or the TPM refused: {last_words(done)}")
    return done
