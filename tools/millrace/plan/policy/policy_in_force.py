# SPDX-License-Identifier: Apache-2.0
"""The policy that the server serves by: the file as it is, else the last one that could be read.

Planning goes by `policy_file.load_policy`, which takes no substitute: another policy is another plan. A typo in a file
that was edited years later must not close the shares of a pool that exists.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_file import load_policy, parse_known, parse_policy, source
from millrace.system import paths
from millrace.system.errors import BadInput
from millrace.system.files import write_text
from millrace.system.names import several


@dataclass(frozen=True)
class InForce:
    """The policy in force, and one sentence on the file where the last good policy had to replace it."""

    policy: Policy
    problem: str | None = None


def last_good_file() -> Path:
    """The text of the newest policy that could be read and was used."""
    return paths.state_dir() / "policy.last-good.toml"


def find() -> InForce:
    """Return the policy in force. BadInput: neither the file nor an earlier one can be read."""
    try:
        return InForce(load_policy())
    except BadInput as error:
        kept = _last_good()
        if kept is None:
            raise
        policy, when, unknown = kept
        without = f" without {several(unknown)}, which this version does not know" if unknown else ""
        return InForce(policy, f"{error}; the policy of {when} stays in force{without}")


def in_force() -> Policy:
    """Return the policy in force; warn on standard error where it is not the file's."""
    found = find()
    if found.problem:
        print(f"millrace: {found.problem}", file=sys.stderr)
    return found.policy


def last_good() -> Policy:
    """Return the policy that was in force last; the defaults where none was yet."""
    kept = _last_good()
    return kept[0] if kept is not None else Policy()


def save_last_good() -> None:
    """Keep the policy that can be read now as the last good one; keep nothing of one that cannot be read.

    A boot drive that does not take it keeps nobody from being served: the one before stays the last good one.
    """
    path = source()
    try:
        text = path.read_text() if path is not None else ""
        parse_policy(text, str(path))
    except (BadInput, OSError, UnicodeDecodeError):
        return
    with suppress(OSError):
        write_text(last_good_file(), text)


def _last_good() -> tuple[Policy, str, list[str]] | None:
    """The policy, its time, and its keys that were left out: a later version may have kept it before a rollback."""
    path = last_good_file()
    try:
        when = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="minutes")
        policy, unknown = parse_known(path.read_text(), str(path))
        return policy, when, unknown
    except (BadInput, OSError, UnicodeDecodeError):
        return None
