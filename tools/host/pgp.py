# SPDX-License-Identifier: Apache-2.0
"""The key that updates are signed with, made by GnuPG in a home of its own: the user's keyring is not touched."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from millrace.system.errors import Failed

NAME = "Millrace updates"


def _gpg(home: Path, *arguments: str) -> bytes:
    argv = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--no-tty", *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, check=False)
    except OSError as error:
        raise Failed(f"gpg cannot be started ({error.strerror}); install the package gpg.") from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise Failed(f"gpg {arguments[-1]} failed: {lines[-1] if lines else 'no reason given'}")
    return done.stdout


@contextmanager
def _home() -> Iterator[Path]:
    # below /tmp: the path of the agent's socket may have 107 characters
    with tempfile.TemporaryDirectory(prefix="millrace-pgp-", dir="/tmp") as directory:
        try:
            yield Path(directory)
        finally:
            argv = ["gpgconf", "--homedir", directory, "--kill", "gpg-agent"]
            subprocess.run(argv, capture_output=True, check=False)


def make() -> tuple[bytes, bytes]:
    """Return a new key, secret and public. Failed: gpg is missing or fails."""
    unlocked = ("--pinentry-mode", "loopback", "--passphrase", "")
    with _home() as home:
        _gpg(home, *unlocked, "--quick-generate-key", NAME, "ed25519", "sign", "never")
        return _gpg(home, *unlocked, "--export-secret-keys"), _gpg(home, "--export")


def fingerprints(file: Path) -> list[str]:
    """Return the fingerprints of the keys in a file, newest first. Failed: gpg cannot read it."""
    with _home() as home:
        lines = _gpg(home, "--with-colons", "--show-keys", str(file)).decode(errors="replace").splitlines()
    fields = [line.split(":") for line in lines]
    # the line of a key's fingerprint follows that of the key
    return [after[9] for one, after in pairwise(fields) if one[0] in ("pub", "sec")]


def signature(secret: Path, file: Path) -> bytes:
    """Return the detached signature of a file with the key in `secret`. Failed: gpg cannot make one."""
    with _home() as home:
        _gpg(home, "--import", str(secret))
        return _gpg(
            home, "--pinentry-mode", "loopback", "--passphrase", "", "--output", "-", "--detach-sign", str(file)
        )
