# SPDX-License-Identifier: Apache-2.0
"""A recovery key is printed once and written nowhere; a change of the keys takes the existing one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.lifecycle.encryption import enroll, root
from millrace.lifecycle.encryption.verbs import encryption
from millrace.system.errors import Failed, Refused
from millrace.system.os_release import image_version
from millrace.system.run import Result
from tests.fakes import samples
from tests.fakes.tools import stand_in
from tests.unit.lifecycle.encryption.partitions import encrypted, recovery_token, started, tpm_token

KEY = "kncdvjht-lbrgeeki-hjjdvuvk-bbgjuknv-gtchhrle-brevntjd-vliurbgk-ivvhfrei"
OLD = "vliurbgk-ivvhfrei-kncdvjht-lbrgeeki-hjjdvuvk-bbgjuknv-gtchhrle-brevntjd"


class Tools(samples.Tools):
    """systemd-cryptenroll, which the old recovery key lets in."""

    TAKEN = ("systemd-cryptenroll ...", "journalctl --boot --output=cat --unit=systemd-cryptsetup@root.service")

    def __init__(self) -> None:
        super().__init__()
        self.enrolled: list[list[str]] = []

    def _journalctl(self, words: list[str], stdin: str) -> Result:
        return Result(0, "Set cipher aes\n", "")

    def _systemd_cryptenroll(self, words: list[str], stdin: str) -> Result:
        *options, device = words
        assert device.endswith("/dev/vda6") and not {KEY, OLD} & set(words)
        [unlock] = [option for option in options if option.startswith("--unlock")]
        options.remove(unlock)
        assert unlock == enroll.BY_KEY
        if stdin != OLD:
            return Result(1, "", "Failed to decrypt LUKS2 volume key: Operation not permitted\n")
        self.enrolled.append(options)
        return Result(0, f"{KEY}\n" if "--recovery-key" in options else "", "New key enrolled as key slot 1.\n")


def never() -> str:
    raise AssertionError("nobody is asked")


def old() -> str:
    return f"{OLD}\n"


def made_by_the_initrd(server: Path, text: str = f"{KEY}\n") -> None:
    """What seal-root leaves in memory, and the mark that had it do so."""
    (server / enroll.MADE_IN_THE_INITRD).write_text(text)
    root.wanted_file().parent.mkdir(parents=True, exist_ok=True)
    root.wanted_file().touch()


def test_recovery_key_of_the_initrd_is_in_the_answer_once_and_then_in_no_file(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    made_by_the_initrd(root_user)
    assert not root.show(Tools()).recovery_key
    made = enroll.new_recovery_key(Tools(), False, never)
    assert (made.key, made.replaced) == (KEY, False)
    assert root.show(Tools()).recovery_key
    assert not any(KEY.encode() in path.read_bytes() for path in root_user.rglob("*") if path.is_file())
    with pytest.raises(Refused, match=r"cannot be shown again; --new replaces it; if it is lost: .*--at-restart"):
        enroll.new_recovery_key(Tools(), False, never)


@pytest.mark.parametrize("left", [None, ""])
def test_without_a_key_of_the_initrd_the_next_start_makes_one(root_user: Path, left: str | None) -> None:
    encrypted(root_user, tpm_token())
    if left is not None:
        made_by_the_initrd(root_user, left)
    with pytest.raises(Refused, match=r"has no recovery key, which this takes: .*--at-restart"):
        enroll.new_recovery_key(Tools(), False, never)


def test_a_lost_recovery_key_is_replaced_at_the_next_start(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    asked = enroll.recovery_key_at_restart(Tools())
    assert (asked.key, asked.replaced) == (None, True)
    assert root.wanted_file() == root_user / "var/lib/millrace/recovery-key-wanted"
    assert root.is_key_wanted() and root.wanted_file().read_text() == f"{image_version()}\n"


def test_wish_of_another_version_for_a_recovery_key_is_ignored(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    enroll.recovery_key_at_restart(Tools())
    assert not root.show(Tools()).recovery_key
    root.wanted_file().write_text("0.0.1\n")
    assert root.show(Tools()).recovery_key


def test_a_second_recovery_key_replaces_the_first_which_is_asked_for(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    assert enroll.new_recovery_key(tools, True, old).replaced
    assert tools.enrolled == [["--recovery-key", "--wipe-slot=recovery"]]


def test_a_key_that_nobody_read_is_read_before_the_tpm_is_bound(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    made_by_the_initrd(root_user)
    with pytest.raises(Refused, match="was not read yet"):
        enroll.bind(Tools(), True, never)


def test_a_new_mainboard_is_bound_with_the_recovery_key(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    assert enroll.bind(tools, True, old).secure_boot
    assert root.opened_by_tpm(tools) is None
    [options] = tools.enrolled
    key = f"--tpm2-public-key={root_user / root.SIGNER}"
    assert options == ["--tpm2-device=auto", "--tpm2-pcrs=7", key, "--tpm2-public-key-pcrs=11", "--wipe-slot=tpm2"]


def test_suspending_leaves_the_kernel_image_only(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    assert not enroll.bind(tools, False, old).secure_boot
    assert "--tpm2-pcrs=" in tools.enrolled[0] and "--tpm2-public-key-pcrs=11" in tools.enrolled[0]


def test_a_wrong_recovery_key_changes_nothing(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    with pytest.raises(Failed, match="recovery key was not accepted"):
        enroll.bind(tools, True, lambda: "wrong")
    assert tools.enrolled == []


def test_an_empty_line_is_no_recovery_key(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    with pytest.raises(Refused, match="the recovery key is required"):
        enroll.bind(tools, True, lambda: "\n")
    assert tools.enrolled == []


def test_a_root_in_the_clear_has_no_keys(root_user: Path) -> None:
    (root_user / "proc/1").mkdir(parents=True)
    (root_user / "proc/1/mountinfo").write_text("24 1 254:6 / / rw shared:1 - ext4 /dev/vda6 rw\n")
    for action in (
        lambda: enroll.bind(Tools(), True, never),
        lambda: enroll.new_recovery_key(Tools(), True, never),
        lambda: enroll.recovery_key_at_restart(Tools()),
    ):
        with pytest.raises(Refused, match="is not encrypted"):
            action()


def test_binding_needs_secure_boot(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    started(root_user, secure_boot=False)
    with pytest.raises(Refused, match="cannot be bound to the TPM: Secure Boot is off"):
        enroll.bind(Tools(), True, never)


def test_verb_prints_the_key_and_reads_the_old_one_from_stdin(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    stand_in(monkeypatch, tools)
    done = CliRunner().invoke(encryption, ["recovery-key", "--new", "--key-stdin", "--json"], input=f"{OLD}\n")
    assert json.loads(done.stdout) == {"schema_version": 1, "key": KEY, "replaced": True}
    shown = CliRunner().invoke(encryption, ["recovery-key", "--new", "--key-stdin"], input=f"{OLD}\n").stdout
    assert f"\n    {KEY}\n" in shown and "previous recovery key is no longer accepted" in shown


def test_verb_has_the_next_start_make_a_key_and_takes_no_other_option_with_it(
    root_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    stand_in(monkeypatch, Tools())
    done = CliRunner().invoke(encryption, ["recovery-key", "--at-restart"])
    assert "The next start makes a recovery key" in done.stdout and "accepted until then" in done.stdout
    assert CliRunner().invoke(encryption, ["recovery-key", "--at-restart", "--new"]).exit_code == 2
