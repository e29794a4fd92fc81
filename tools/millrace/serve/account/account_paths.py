# SPDX-License-Identifier: Apache-2.0
"""Where the keys and second factors of administrators, operators and viewers are."""

from pathlib import Path

from millrace.system import paths


def ssh_keys_dir() -> Path:
    """The public SSH keys of people, one file each, which sshd reads; rendered from the desired state."""
    return paths.state_dir() / "access/ssh-keys"


def second_factor_dir() -> Path:
    """The TOTP secrets and recovery codes of people, one file each, for root alone; pam_google_authenticator(8)."""
    return paths.state_dir() / "access/second-factor"


def enrolment_dir() -> Path:
    """Second factors that were not confirmed yet, for root alone, until the restart."""
    return paths.run_dir() / "second-factor"
