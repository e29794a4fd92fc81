# SPDX-License-Identifier: Apache-2.0
"""A recovery key is printed once and written nowhere; the TPM is asked before people are."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.lifecycle.encryption import enroll, root
from millrace.lifecycle.encryption.verbs import encryption
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes import samples
from tests.fakes.tools import stand_in
from tests.unit.lifecycle.encryption.partitions import encrypted, recovery_token, started, tpm_token

KEY = "kncdvjht-lbrgeeki-hjjdvuvk-bbgjuknv-gtchhrle-brevntjd-vliurbgk-ivvhfrei"
OLD = "vliurbgk-ivvhfrei-kncdvjht-lbrgeeki-hjjdvuvk-bbgjuknv-gtchhrle-brevntjd"


class Tools(samples.Tools):
    """systemd-cryptenroll, which a TPM or the old recovery key lets in."""

    TAKEN = ("systemd-cryptenroll ...", "journalctl --boot --output=cat --unit=systemd-cryptsetup@root.service")

    def __init__(self, tpm: bool = True) -> None:
        super().__init__()
        self.tpm = tpm
        self.enrolled: list[list[str]] = []

    def _journalctl(self, words: list[str], stdin: str) -> Result:
        return Result(0, "Set cipher aes\n", "")

    def _systemd_cryptenroll(self, words: list[str], stdin: str) -> Result:
        *options, device = words
        assert device.endswith("/dev/vda6") and not {KEY, OLD} & set(words)
        [unlock] = [option for option in options if option.startswith("--unlock")]
        options.remove(unlock)
        if unlock == enroll.BY_TPM:
            if not self.tpm:
                return Result(1, "", "Failed to unseal secret using TPM2: State not recoverable\n")
        else:
            assert unlock == enroll.BY_KEY
            if stdin != OLD:
                return Result(1, "", "Failed to decrypt LUKS2 volume key: Operation not permitted\n")
        self.enrolled.append(options)
        return Result(0, f"{KEY}\n" if "--recovery-key" in options else "", "New key enrolled as key slot 1.\n")


def never() -> str:
    raise AssertionError("nobody is asked")


def old() -> str:
    return f"{OLD}\n"


def test_recovery_key_is_in_the_answer_and_in_no_file(root_user: Path) -> None:
    encrypted(root_user, tpm_token())
    tools = Tools()
    made = enroll.new_recovery_key(tools, False, never)
    assert (made.key, made.replaced) == (KEY, False)
    assert tools.enrolled == [["--recovery-key"]]
    assert not any(KEY.encode() in path.read_bytes() for path in root_user.rglob("*") if path.is_file())


def test_a_second_recovery_key_is_refused_unless_it_replaces_the_first(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    with pytest.raises(Refused, match="cannot be shown again; --new replaces it"):
        enroll.new_recovery_key(tools, False, never)
    assert tools.enrolled == []
    assert enroll.new_recovery_key(tools, True, never).replaced
    assert tools.enrolled == [["--recovery-key", "--wipe-slot=recovery"]]


def test_a_new_mainboard_is_bound_with_the_recovery_key(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools(tpm=False)
    assert enroll.bind(tools, True, old).secure_boot
    assert root.opened_by_tpm(tools) is None
    [options] = tools.enrolled
    key = f"--tpm2-public-key={root_user / root.SIGNER}"
    assert options == ["--tpm2-device=auto", "--tpm2-pcrs=7", key, "--tpm2-public-key-pcrs=11", "--wipe-slot=tpm2"]


def test_suspending_leaves_the_kernel_image_only(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools()
    assert not enroll.bind(tools, False, never).secure_boot
    assert "--tpm2-pcrs=" in tools.enrolled[0] and "--tpm2-public-key-pcrs=11" in tools.enrolled[0]


@pytest.mark.parametrize(
    ("tokens", "tpm", "typed", "words"),
    [
        ([tpm_token(), recovery_token()], False, lambda: "wrong", "recovery key was not accepted"),
        ([tpm_token()], False, never, "the TPM does not open the root file system: Failed to unseal"),
        ([], True, never, "neither a TPM nor a recovery key"),
    ],
)
def test_what_opens_nothing_changes_nothing(
    root_user: Path, tokens: list[dict[str, object]], tpm: bool, typed: Callable[[], str], words: str
) -> None:
    encrypted(root_user, *tokens)
    tools = Tools(tpm)
    with pytest.raises(Failed, match=words):
        enroll.bind(tools, True, typed)
    assert tools.enrolled == []


def test_an_empty_line_is_no_recovery_key(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools(tpm=False)
    with pytest.raises(Refused, match="the recovery key is required"):
        enroll.bind(tools, True, lambda: "\n")
    assert tools.enrolled == []


def test_a_root_in_the_clear_has_no_keys(root_user: Path) -> None:
    (root_user / "proc/1").mkdir(parents=True)
    (root_user / "proc/1/mountinfo").write_text("24 1 254:6 / / rw shared:1 - ext4 /dev/vda6 rw\n")
    for action in (lambda: enroll.bind(Tools(), True, never), lambda: enroll.new_recovery_key(Tools(), True, never)):
        with pytest.raises(Refused, match="is not encrypted"):
            action()


def test_binding_needs_secure_boot(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    started(root_user, secure_boot=False)
    with pytest.raises(Refused, match="cannot be bound to the TPM: Secure Boot is off"):
        enroll.bind(Tools(), True, never)


def test_verb_prints_the_key_and_reads_the_old_one_from_stdin(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    tools = Tools(tpm=False)
    stand_in(monkeypatch, tools)
    done = CliRunner().invoke(encryption, ["recovery-key", "--new", "--key-stdin", "--json"], input=f"{OLD}\n")
    assert json.loads(done.stdout) == {"schema_version": 1, "key": KEY, "replaced": True}
    shown = CliRunner().invoke(encryption, ["recovery-key", "--new", "--key-stdin"], input=f"{OLD}\n").stdout
    assert f"\n    {KEY}\n" in shown and "previous recovery key is no longer accepted" in shown
