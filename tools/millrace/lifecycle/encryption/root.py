# SPDX-License-Identifier: Apache-2.0
"""How the root file system of this server is encrypted, now."""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from millrace.lifecycle.encryption import luks
from millrace.lifecycle.encryption.model import Encryption, Need
from millrace.system import paths, sysfs
from millrace.system.boot import booted_at
from millrace.system.errors import Refused
from millrace.system.mounts import mounted
from millrace.system.os_release import image_version
from millrace.system.run import Runner

SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# In front of the value of each variable, in efivarfs.
ATTRIBUTES = 4
# What systemd-stub(7) took from the running kernel image.
SIGNER = "run/systemd/tpm2-pcr-public-key.pem"
# The register with the state of Secure Boot and the keys that firmware accepts (UAPI.7).
SECURE_BOOT_REGISTER = 7
# Made in the boot in which the key of the TPM was changed.
CHANGED = "encryption-changed"
# What opens root in the initrd, and what it prints (systemd 262, cryptsetup.c).
OPENER = "systemd-cryptsetup@root.service"
TPMS = "sys/class/tpmrm"
# Of ext4: where its superblock is, its length, and in it the magic and when the file system was made
# (Documentation/filesystems/ext4/super.rst).
SUPERBLOCK, LENGTH, MAGIC_AT, MAGIC, MADE_AT = 1024, 1024, 0x38, 0xEF53, 0x108
OPENED, NOT_BY_TPM = "Set cipher", "falling back to traditional unlocking"


def wanted_file() -> Path:
    """Return the mark of a recovery key that nobody has: the next start makes one (seal-root in the initrd).

    The mark of the first start is empty (root-encryption.conf), another one has the version that made it.
    """
    return paths.state_dir() / "recovery-key-wanted"


def is_key_wanted() -> bool:
    """Whether the next start of this version makes a recovery key."""
    mark = wanted_file()
    return mark.exists() and mark.read_text().strip() in ("", image_version())


def device() -> Path | None:
    """Return the partition under an encrypted root file system; None where it is not encrypted."""
    block = _block()
    if block is None or not (sysfs.text(block / "dm/uuid") or "").startswith("CRYPT-LUKS2-"):
        return None
    names = sysfs.names(block / "slaves")
    return paths.ROOT / "dev" / names[0] if len(names) == 1 else None


def made() -> datetime | None:
    """Return when the root file system was made, which is when it was encrypted; None where that cannot be read."""
    block = _block()
    name = sysfs.uevent(block).get("DEVNAME") if block else None
    if name is None:
        return None
    try:
        with (paths.ROOT / "dev" / name).open("rb") as file:
            file.seek(SUPERBLOCK)
            head = file.read(LENGTH)
        if struct.unpack_from("<H", head, MAGIC_AT) != (MAGIC,):
            return None
        return datetime.fromtimestamp(struct.unpack_from("<I", head, MADE_AT)[0], UTC)
    except (OSError, struct.error):
        return None


def _block() -> Path | None:
    found = mounted("/")
    return paths.ROOT / "sys/dev/block" / found.device if found else None


def signer() -> bytes | None:
    """Return the PEM of the key that the running kernel image is signed with; None where it is not signed for root."""
    try:
        return (paths.ROOT / SIGNER).read_bytes()
    except OSError:
        return None


def has_tpm() -> bool:
    """Whether the kernel drives a TPM 2.0."""
    return bool(sysfs.names(paths.ROOT / TPMS))


def tpm_name() -> str | None:
    """Return the name of the TPM with its driver, `MSFT0101:00 (tpm_crb)`; None where there is none."""
    for name in sysfs.names(paths.ROOT / TPMS):
        parent = paths.ROOT / TPMS / name / "device"
        if parent.exists():
            driver = parent / "driver"
            return parent.resolve().name + (f" ({driver.resolve().name})" if driver.exists() else "")
    return None


def without() -> str | None:
    """Return why a root file system would not be encrypted by this boot, as a clause; None where it would."""
    if signer() is None:
        return "the kernel image is not signed with tools/build --sign"
    try:
        enabled = (paths.ROOT / SECURE_BOOT).read_bytes()[ATTRIBUTES:] == b"\1"
    except OSError:
        enabled = False
    if not enabled:
        return "Secure Boot is off"
    return None if has_tpm() else "this server has no TPM 2.0"


def opened_by_tpm(run: Runner) -> bool | None:
    """Return whether the TPM opened root in this boot; None where nothing is known, or its key was changed since."""
    if (paths.run_dir() / CHANGED).exists():
        return None
    lines = run(["journalctl", "--boot", "--output=cat", f"--unit={OPENER}"]).out.splitlines()
    return not any(NOT_BY_TPM in line for line in lines) if any(OPENED in line for line in lines) else None


def show(run: Runner) -> Encryption:
    """Return how root is encrypted. Refused: the caller is not root. Failed: the header cannot be parsed."""
    partition = device()
    booted = booted_at().isoformat(timespec="seconds")
    if partition is None:
        return Encryption(
            device=None,
            without=without(),
            cipher=None,
            since=None,
            tpm=has_tpm(),
            tpm_name=tpm_name(),
            bound=False,
            secure_boot=False,
            signer=False,
            opened=None,
            booted=booted,
            recovery_key=False,
            needs=[],
        )
    try:
        header = luks.read(partition)
    except PermissionError as error:
        raise Refused("reading what opens the root file system requires root; run this command with sudo") from error
    running, since = signer(), made()
    now = Encryption(
        device=str(partition),
        without=None,
        cipher=header.cipher,
        since=since.isoformat(timespec="seconds") if since else None,
        tpm=has_tpm(),
        tpm_name=tpm_name(),
        bound=bool(header.tpm),
        secure_boot=any(SECURE_BOOT_REGISTER in slot.registers for slot in header.tpm),
        signer=running is not None and any(slot.signer.strip() == running.strip() for slot in header.tpm),
        opened=opened_by_tpm(run),
        booted=booted,
        recovery_key=header.recovery_keys > 0 and not is_key_wanted(),
        needs=[],
    )
    return now.model_copy(update={"needs": list(_needs(now))})


def _needs(now: Encryption) -> Iterator[Need]:
    """What may keep root closed; of the TPM the worst alone, as binding it again mends the others with it."""
    if not now.tpm:
        yield "tpm"
    elif not now.bound or now.opened is False:
        yield "bound"
    elif not now.secure_boot:
        yield "suspended"
    elif not now.signer:
        yield "signer"
    if not now.recovery_key:
        yield "recovery-key"
