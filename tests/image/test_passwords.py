# SPDX-License-Identifier: Apache-2.0
"""libpwquality of the image refuses what is tried first, and its PAM asks it and counts."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.image.test_image import chroot


def score(tree: Path, password: str) -> subprocess.CompletedProcess[str]:
    return chroot(tree, "/bin/sh", "-c", 'printf "%s\\n" "$1" | pwscore anna', "sh", password)


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("eleven-char", "shorter than 12"),
        ("Password1234", "forbidden words"),
        ("Millrace-2026", "forbidden words"),
        ("the-anna-of-old", "user name"),
        ("123456789012", "monotonic sequence"),
        ("111111222222", "same characters"),
        ("Administrator1", "dictionary"),
        ("storageserver", "dictionary"),
        ("1q2w3e4r5t6y", "dictionary"),
        ("adminadminadmin", "dictionary"),
    ],
)
def test_password_that_is_tried_first_is_refused(tree: Path, password: str, reason: str) -> None:
    said = score(tree, password)
    assert said.returncode == 1 and reason in said.stderr


@pytest.mark.parametrize("password", ["correct-horse-9-battery", "river mill harbour lamp", "ein langer Satz tut es"])
def test_long_password_needs_no_special_signs(tree: Path, password: str) -> None:
    said = score(tree, password)
    assert said.returncode == 0, said.stderr


def test_every_prompt_asks_for_quality_and_counts_failures(factory: Path) -> None:
    def rules(name: str) -> list[str]:
        lines = (factory / "pam.d" / name).read_text().splitlines()
        return [re.sub(r"\s+", " ", line) for line in lines if line and not line.startswith("#")]

    auth, password, account = (rules(f"common-{name}") for name in ("auth", "password", "account"))
    local, web = "[success=1 default=ignore]", "[success=ignore default=1]"
    asked = "pam_succeed_if.so quiet service = cockpit"
    assert auth[0] == "auth [success=ignore default=1] pam_succeed_if.so quiet service = sshd"
    # each pair of lines is skipped by the other kind of sign-in; the number is that of the lines up to pam_deny
    code, *auth = auth[1:]
    assert code.startswith(
        "auth [success=10 default=die] pam_google_authenticator.so user=root secret=/var/lib/millrace/"
    )
    assert auth[:9] == [
        f"auth {local} {asked}",
        "auth requisite pam_faillock.so preauth",
        f"auth {web} {asked}",
        "auth requisite pam_faillock.so preauth dir=/run/faillock-web",
        "auth [success=5 default=ignore] pam_unix.so nullok try_first_pass",
        f"auth {local} {asked}",
        "auth required pam_faillock.so authfail",
        f"auth {web} {asked}",
        "auth required pam_faillock.so authfail dir=/run/faillock-web",
    ]
    assert auth[9].startswith("auth requisite pam_deny.so")
    # behind pam_permit: it sees no password that is wrong
    assert auth[10].startswith("auth required pam_permit.so")
    assert auth[11].rstrip() == "auth optional pam_verified_password.so"
    # takes the count back after a good sign-in
    assert [line.rstrip() for line in account[:4]] == [
        f"account {local} {asked}",
        "account required pam_faillock.so",
        f"account {web} {asked}",
        "account required pam_faillock.so dir=/run/faillock-web",
    ]
    assert password[0].startswith("password requisite pam_pwquality.so")
    # after the rule for a new password, which asks nothing yet, and before the module that asks for the present one
    assert password[1].rstrip() == "password optional pam_verified_password.so"
    assert "pam_unix.so" in password[2] and "use_authtok" in password[2]
    # once there is a new password, the one for SMB follows
    assert password[-1] == "password optional pam_exec.so seteuid quiet expose_authtok /usr/bin/millrace user sync-smb"
