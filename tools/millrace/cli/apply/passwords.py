# SPDX-License-Identifier: Apache-2.0
"""The passwords that a file names: in files of their own for accounts that have none, and as hashes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from millrace.cli.apply.model import AccessEntry, UserEntry
from millrace.cli.apply.reading import Reading
from millrace.serve.account import accounts
from millrace.serve.account.password import strong_password
from millrace.serve.config.model import Config
from millrace.serve.render.registry import Change, RenderPart
from millrace.system.account_files import AccountFiles
from millrace.system.errors import BadInput
from millrace.system.run import Runner
from millrace.system.smb_passwords import nt_hashes


@dataclass
class Passwords:
    """Passwords of accounts that have none, and hashes: `shadow` for login and `nt` for SMB, by account."""

    plain: dict[str, str] = field(default_factory=dict)
    shadow: dict[str, str] = field(default_factory=dict)
    nt: dict[str, str] = field(default_factory=dict)


class HashChange(RenderPart):
    """The passwords of users by their hashes, as the file has them."""

    def __init__(self, hashes: Passwords, run: Runner) -> None:
        self._hashes = hashes
        self._run = run

    def prepare(self, change: Change) -> None:
        """Set those that differ. Failed: a tool of the system or of Samba fails."""
        known = [name for name in self._hashes.shadow if change.old.user(name) is not None]
        before = kept_hashes(known, self._run)
        change.on_failure(lambda: accounts.set_hashes(change.old, before.shadow, before.nt, self._run))
        accounts.set_hashes(change.new, self._hashes.shadow, self._hashes.nt, self._run)


def passwords(config: Config, reading: Reading, run: Runner) -> Passwords:
    """Return the passwords to be set; what is wrong is noted in the reading. A password that there is, stays."""
    made, files = Passwords(), AccountFiles()
    entries: list[tuple[str, str, UserEntry | AccessEntry]] = [
        *(("users", name, user) for name, user in (reading.document.users or {}).items()),
        *(("access", name, person) for name, person in (reading.document.access or {}).items()),
    ]
    for section, name, entry in entries:
        place = (section, name, "password_file")
        if entry.password_file is not None and not files.has_password(name):
            password = reading.secret(place, entry.password_file)
            if password is None:
                continue
            try:
                made.plain[name] = strong_password(name, password, run)
            except BadInput as error:
                reading.problem(place, str(error))
        if isinstance(entry, UserEntry) and config.user(name) is not None:
            made.shadow |= {name: entry.password_hash} if entry.password_hash else {}
            made.nt |= {name: entry.smb_hash} if entry.smb_hash else {}
    return made


def due(secrets: Passwords, run: Runner) -> list[str]:
    """Return the accounts whose password is to be set. Refused: the caller is not root."""
    files = AccountFiles()
    known = nt_hashes(list(secrets.nt), run) if secrets.nt else {}
    names = dict.fromkeys(secrets.plain)
    names |= dict.fromkeys(name for name, value in secrets.shadow.items() if files.password(name) != value)
    names |= dict.fromkeys(name for name, value in secrets.nt.items() if known.get(name) != value)
    return list(names)


def kept_hashes(names: Iterable[str], run: Runner) -> Passwords:
    """Return the hashes that accounts have now. Refused: the caller is not root."""
    listed = list(names)
    shadow = accounts.shadow_hashes(listed)
    return Passwords(shadow=shadow, nt=nt_hashes(listed, run) if listed else {})
