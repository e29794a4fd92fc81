# SPDX-License-Identifier: Apache-2.0
"""Is what is served what is wanted: no damaged state, no edit by hand, nothing that stops a share?"""

from millrace import paths
from millrace.config import store
from millrace.config.model import Config
from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.share import exports, rendered

NAME = "shares"


def check(host: Host) -> list[Finding]:
    """The wanted state and the files that were rendered from it, wherever there is a pool to serve."""
    loaded = store.look()
    findings = []
    if loaded.problem:
        todo = "Look at millrace config history; any change, or millrace config rollback, makes a whole one again"
        findings.append(Finding(check=NAME, level=Level.WARN, sentence=f"{loaded.problem}.", todo=todo))
    if host.pool is None:
        return findings
    findings += [*_drift(), *_foreign(), *_io_uring(loaded.config)]
    count = len(loaded.config.shares)
    shares = "1 share is" if count == 1 else f"{count} shares are"
    return findings or [Finding(check=NAME, level=Level.OK, sentence=f"{shares} wanted and rendered.")]


def _drift() -> list[Finding]:
    todo = "millrace share render --force puts it back and keeps the edit in /var/lib/millrace/replaced"
    return [
        Finding(check=NAME, level=Level.WARN, sentence=f"/{name} was edited by hand and is not rendered.", todo=todo)
        for name in rendered.edited()
    ]


def _foreign() -> list[Finding]:
    todo = "Make a share of it (millrace share create) and delete the file, or leave it: it is served as it is"
    return [
        Finding(check=NAME, level=Level.WARN, sentence=f"{path} exports something that is not a share.", todo=todo)
        for path in exports.foreign_files()
    ]


def _io_uring(config: Config) -> list[Finding]:
    """Shares of SMB alone use io_uring, and do not open where the kernel refuses it."""
    path = paths.ROOT / "proc/sys/kernel/io_uring_disabled"
    alone = [one.name for one in config.shares if one.smb.enabled and not one.both and one.profile not in _WITHOUT]
    if not alone or not path.exists() or path.read_text().strip() == "0":
        return []
    sentence = f"The kernel refuses io_uring: {', '.join(alone)} cannot be opened over SMB."
    return [Finding(check=NAME, level=Level.FAIL, sentence=sentence, todo="sysctl kernel.io_uring_disabled=0")]


_WITHOUT = ("mixed", "home")
