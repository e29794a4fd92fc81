# SPDX-License-Identifier: Apache-2.0
"""The header of its partition says what opens the root file system, the boot why it is not encrypted."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.lifecycle.encryption import luks, root
from millrace.lifecycle.encryption.model import Need
from millrace.lifecycle.encryption.verbs import encryption
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes import samples
from tests.fakes.tools import stand_in
from tests.unit.lifecycle.encryption.partitions import (
    CIPHER,
    SIGNER,
    encrypted,
    ext4,
    header,
    recovery_token,
    started,
    tpm_token,
)


class Journal(samples.Tools):
    """What the opener of root printed in this boot."""

    TAKEN = ("journalctl --boot --output=cat --unit=systemd-cryptsetup@root.service",)

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.lines = lines

    def _journalctl(self, words: Sequence[str], stdin: str) -> Result:
        return Result(0, "".join(f"{line}\n" for line in self.lines), "")


OPENED = "Set cipher aes, mode xts-plain64, key size 512 bits for device /dev/disk/by-designator/root-luks."
# printed of a key that is tried, whether it opens or not
BY_TPM = "Automatically discovered security TPM2 token unlocks volume."
FELL_BACK = "TPM2 operation failed, falling back to traditional unlocking: State not recoverable"


def plain(server: Path) -> None:
    (server / "proc/1").mkdir(parents=True)
    (server / "proc/1/mountinfo").write_text("24 1 254:6 / / rw shared:1 - ext4 /dev/vda6 rw\n")


def test_tpm_and_recovery_key_open_root(root_user: Path) -> None:
    partition = encrypted(root_user, tpm_token(), recovery_token())
    now = root.show(Journal())
    assert now.device == str(partition)
    assert (now.tpm, now.bound, now.secure_boot, now.signer, now.recovery_key) == (True,) * 5


def test_an_earlier_signer_is_told_from_that_of_the_running_image(root_user: Path) -> None:
    encrypted(root_user, tpm_token(signer=SIGNER.replace(b"owner", b"other")))
    assert not root.show(Journal()).signer


def test_a_suspended_binding_does_not_ask_for_secure_boot(root_user: Path) -> None:
    encrypted(root_user, tpm_token(registers=()), tpm=False)
    now = root.show(Journal())
    assert (now.bound, now.secure_boot, now.tpm, now.recovery_key) == (True, False, False, False)


@pytest.mark.parametrize(
    ("signer", "secure_boot", "tpm", "reason"),
    [
        (None, True, True, "the kernel image is not signed"),
        (SIGNER, False, True, "Secure Boot is off"),
        (SIGNER, True, False, "no TPM 2.0"),
    ],
)
def test_a_root_in_the_clear_has_its_reason(
    root_user: Path, signer: bytes | None, secure_boot: bool, tpm: bool, reason: str
) -> None:
    plain(root_user)
    started(root_user, signer, tpm, secure_boot)
    now = root.show(Journal())
    assert now.device is None and reason in str(now.without)


def test_a_root_made_before_has_no_reason_in_this_boot(root_user: Path) -> None:
    plain(root_user)
    started(root_user)
    assert (root.show(Journal()).device, root.show(Journal()).without) == (None, None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 16384,
        header(version=1),
        header(size=1 << 40),
        header(size=512),
        header().replace(b'"tokens": {}', b'"tokens": []'),
        header().replace(b'{"keyslots"', b'{"keyslots'),
        header({"type": luks.TPM2, "tpm2_pubkey": "a"}),
        header({"kind": 1}),
    ],
)
def test_a_header_that_is_none_is_one_sentence(root_user: Path, content: bytes) -> None:
    encrypted(root_user).write_bytes(content)
    with pytest.raises(Failed, match=r"has no LUKS2 header|cannot be parsed") as error:
        root.show(Journal())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("lines", "opened"),
    [([OPENED, BY_TPM], True), ([OPENED, BY_TPM, FELL_BACK], False), ([], None)],
)
def test_who_opened_root_is_in_the_journal_of_the_boot(root_user: Path, lines: list[str], opened: bool | None) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    assert root.show(Journal(*lines)).opened is opened


def test_what_is_encrypted_since_when_and_for_which_tpm(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    now = root.show(Journal(OPENED, BY_TPM))
    assert (now.cipher, now.since) == (CIPHER, "2026-11-20T09:30:00+00:00")
    assert (now.tpm_name, now.needs) == ("MSFT0101:00 (tpm_crb)", [])


@pytest.mark.parametrize("content", [None, b"", ext4()[:1100], b"\0" * 2048])
def test_a_file_system_without_a_superblock_of_ext4_has_no_day(root_user: Path, content: bytes | None) -> None:
    encrypted(root_user, tpm_token())
    (root_user / "dev/dm-0").unlink()
    if content is not None:
        (root_user / "dev/dm-0").write_bytes(content)
    assert root.show(Journal()).since is None


@pytest.mark.parametrize("name", ["driver", "device"])
def test_a_tpm_whose_driver_or_device_is_not_shown_is_a_tpm(root_user: Path, name: str) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tpm = root_user / "sys/class/tpmrm/tpmrm0/device"
    (tpm / "driver" if name == "driver" else tpm).unlink()
    now = root.show(Journal())
    assert (now.tpm, now.tpm_name) == (True, "MSFT0101:00" if name == "driver" else None)


@pytest.mark.parametrize(
    ("tokens", "lines", "needs"),
    [
        ([tpm_token()], [OPENED, BY_TPM], ["recovery-key"]),
        ([tpm_token(), recovery_token()], [OPENED, BY_TPM, FELL_BACK], ["bound"]),
        ([tpm_token(registers=()), recovery_token()], [OPENED, BY_TPM], ["suspended"]),
        ([], [], ["bound", "recovery-key"]),
    ],
)
def test_what_may_keep_root_closed_is_named(
    root_user: Path, tokens: list[dict[str, object]], lines: list[str], needs: list[Need]
) -> None:
    encrypted(root_user, *tokens)
    assert root.show(Journal(*lines)).needs == needs


def test_verb_prints_what_the_tpm_asks_for(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    stand_in(monkeypatch, Journal(OPENED, BY_TPM))
    shown = CliRunner().invoke(encryption, ["show"]).stdout
    assert f"encrypted since 2026-11-20 09:30 UTC ({root_user}/dev/vda6, {CIPHER})" in shown
    assert "signed with pcr.key (PCR 11), Secure Boot with its keys of then (PCR 7)" in shown
    assert "TPM here:          MSFT0101:00 (tpm_crb)" in shown
