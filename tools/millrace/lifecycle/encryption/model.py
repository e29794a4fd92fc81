# SPDX-License-Identifier: Apache-2.0
"""The contracts of `millrace encryption`."""

from typing import Literal

from millrace.system.documents import Contract

Need = Literal["tpm", "bound", "suspended", "signer", "recovery-key"]
"""What may keep root closed at a later start: no TPM is there, it has no key or its key did not open root, it does not
ask about Secure Boot, it asks for an earlier signer of kernel images, or there is no recovery key."""


class Encryption(Contract):
    """How the root file system is encrypted (`millrace encryption show --json`).

    `device` is the partition, null where root is not encrypted; `without` says then why a new root would not be, and is
    null where it would. `cipher` is that of its content, `since` when the file system on it was made (ISO 8601); each
    is null where that cannot be read. `tpm` is whether this server has a TPM 2.0, `tpm_name` its name in the kernel
    with its driver. `bound` is whether a TPM has a key to root, and `secure_boot` whether it asks for Secure Boot with
    its keys of then. `signer` is whether it asks for the key that the running kernel image is signed with. `opened` is
    whether the TPM opened root in this boot, which began at `booted`; null where that is not known, and after a change
    of the key since. `recovery_key` is whether an administrator has one: one was made, and read. `needs` is what may
    keep root closed, the worst first.
    """

    schema_version: Literal[1] = 1
    device: str | None
    without: str | None
    cipher: str | None
    since: str | None
    tpm: bool
    tpm_name: str | None
    bound: bool
    secure_boot: bool
    signer: bool
    opened: bool | None
    booted: str
    recovery_key: bool
    needs: list[Need]


class RecoveryKey(Contract):
    """A new recovery key: it is in this answer and nowhere else; `key` is null where the next start makes it.

    `replaced` is whether a previous recovery key ends with it.
    """

    schema_version: Literal[1] = 1
    key: str | None
    replaced: bool


class Bound(Contract):
    """What the TPM asks for from now on: the owner's signature of the kernel image, and with `secure_boot` its keys."""

    schema_version: Literal[1] = 1
    device: str
    secure_boot: bool
