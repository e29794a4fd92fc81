# SPDX-License-Identifier: Apache-2.0
"""Whatever may keep root closed at the next boot is a warning with its remedy before that."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import encryption
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from tests.unit.lifecycle.encryption.partitions import SIGNER, encrypted, recovery_token, started, tpm_token
from tests.unit.lifecycle.encryption.test_root import BY_TPM, FELL_BACK, OPENED, Journal, plain

OTHER = SIGNER.replace(b"owner", b"other")


def test_tpm_and_recovery_key_are_well(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    [finding] = encryption.check(Host(Journal(OPENED, BY_TPM)))
    assert (finding.level, finding.todo) == (Level.OK, None) and "a recovery key exists" in finding.sentence


@pytest.mark.parametrize(
    ("tokens", "tpm", "key", "remedy"),
    [
        ([tpm_token()], True, "encryption/recovery-key", "millrace encryption recovery-key"),
        ([tpm_token(), recovery_token()], False, "encryption/tpm", "Turn the TPM on"),
        ([recovery_token()], True, "encryption/bound", "millrace encryption rebind"),
        ([tpm_token(registers=()), recovery_token()], True, "encryption/suspended", "millrace encryption rebind"),
        ([tpm_token(signer=OTHER), recovery_token()], True, "encryption/signer", "millrace encryption rebind"),
    ],
)
def test_what_may_keep_root_closed_is_a_warning(
    root_user: Path, tokens: list[dict[str, object]], tpm: bool, key: str, remedy: str
) -> None:
    encrypted(root_user, *tokens, tpm=tpm)
    [finding] = encryption.check(Host(Journal(OPENED, BY_TPM)))
    assert (finding.key, finding.level) == (key, Level.WARN)
    assert remedy in str(finding.todo)


@pytest.mark.parametrize(
    ("tpm", "words"),
    [(False, "is not encrypted: this server has no TPM 2.0."), (True, "is not encrypted: it was made before")],
)
def test_a_root_in_the_clear_of_a_signed_image_is_said_with_its_reason(root_user: Path, tpm: bool, words: str) -> None:
    plain(root_user)
    started(root_user, tpm=tpm)
    [finding] = encryption.check(Host(Journal()))
    assert finding.level is Level.OK and words in finding.sentence


def test_nothing_is_said_where_the_image_is_not_signed(root_user: Path) -> None:
    plain(root_user)
    assert encryption.check(Host(Journal())) == []


def test_a_tpm_that_did_not_open_root_is_bound_again(root_user: Path) -> None:
    encrypted(root_user, tpm_token(), recovery_token())
    [finding] = encryption.check(Host(Journal(OPENED, BY_TPM, FELL_BACK)))
    assert (finding.key, finding.todo) == ("encryption/bound", "millrace encryption rebind")
