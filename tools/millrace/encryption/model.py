# SPDX-License-Identifier: Apache-2.0
"""The contracts of `millrace encryption`."""

from typing import Literal

from millrace.system.documents import Contract


class Encryption(Contract):
    """How the root file system is encrypted (`millrace encryption show --json`).

    `device` is the partition, null where root is not encrypted; `without` says then why a new root would not be, and is
    null where it would. `tpm` is whether this server has a TPM 2.0, `bound` whether a TPM has a key to root, and
    `secure_boot` whether it asks for Secure Boot with its keys of then. `signer` is whether it asks for the key that
    the running kernel image is signed with. `opened` is whether the TPM opened root in this boot; null where that is
    not known, and after a change of the key since. `recovery_key` is whether one was made.
    """

    schema_version: Literal[1] = 1
    device: str | None
    without: str | None
    tpm: bool
    bound: bool
    secure_boot: bool
    signer: bool
    opened: bool | None
    recovery_key: bool


class RecoveryKey(Contract):
    """A new recovery key: it is in this answer and nowhere else."""

    schema_version: Literal[1] = 1
    key: str
    replaced: bool


class Bound(Contract):
    """What the TPM asks for from now on: the owner's signature of the kernel image, and with `secure_boot` its keys."""

    schema_version: Literal[1] = 1
    device: str
    secure_boot: bool
