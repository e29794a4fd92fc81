# SPDX-License-Identifier: Apache-2.0
"""The passwords that a file names: in files of their own for accounts that have none, and as hashes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from millrace.cli.apply.model import AccessEntry, UserEntry
from millrace.cli.apply.reading import Reading
from millrace.serve.account import accounts
from millrace.serve.account.password import strong_password
from millrace.serve.config.model import ADMIN, Config
from millrace.serve.render.registry import Change, RenderPart
from millrace.system.account_files import NO_PASSWORD, AccountFiles, editing
from millrace.system.errors import BadInput
from millrace.system.run import Runner
from millrace.system.smb_passwords import nt_hashes, reload_direct, remove_smb


@dataclass
class Passwords:
    """Passwords of accounts that have none, and hashes: `shadow` for login and `nt` for SMB, by account."""

    plain: dict[str, str] = field(default_factory=dict)
    shadow: dict[str, str] = field(default_factory=dict)
    nt: dict[str, str] = field(default_factory=dict)


@dataclass
class KeptPasswords:
    """What accounts had as passwords: `shadow` by account, empty for no line, and `nt` of those with one for SMB."""

    shadow: dict[str, str]
    nt: dict[str, str]


class PasswordsChange(RenderPart):
    """The passwords of a file, for accounts that the change has made by then."""

    def __init__(self, wanted: Passwords, run: Runner) -> None:
        self._wanted = wanted
        self._run = run

    def prepare(self, change: Change) -> None:
        """Set those that differ. Failed: a tool of the system or of Samba fails; those of before are put back."""
        wanted = self._wanted
        names = [*wanted.plain, *wanted.shadow]
        before = kept(names, change.old, self._run)
        change.on_failure(lambda: put_back(change.old, before, self._run))
        accounts.set_hashes(change.new, wanted.shadow, wanted.nt, self._run)
        for name, password in wanted.plain.items():
            accounts.set_password(name, password, self._run)


def passwords(config: Config, reading: Reading, run: Runner) -> Passwords:
    """Return the passwords to be set; what is wrong is noted in the reading. A password that there is, stays."""
    made, files = Passwords(), AccountFiles()
    entries: list[tuple[str, str, UserEntry | AccessEntry]] = [
        *(("users", name, user) for name, user in (reading.document.users or {}).items()),
        *(("access", name, person) for name, person in (reading.document.access or {}).items()),
    ]
    for section, name, entry in entries:
        place = (section, name, "password_file")
        # that of a locked account comes back with it
        if entry.password_file is not None and not files.password(name).removeprefix("!").startswith("$"):
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


def kept(names: Iterable[str], config: Config, run: Runner) -> KeptPasswords:
    """Return what those of these accounts that a state has have as passwords now. Refused: the caller is not root."""
    files = AccountFiles()
    listed = [name for name in dict.fromkeys(names) if name == ADMIN or config.user(name) is not None]
    return KeptPasswords(
        shadow={name: files.password(name) for name in listed}, nt=nt_hashes(listed, run) if listed else {}
    )


def put_back(config: Config, before: KeptPasswords, run: Runner) -> None:
    """Give accounts of a state the passwords that they had, or none. Failed: a tool of Samba fails."""
    now = AccountFiles()
    if any(now.password(name) != value for name, value in before.shadow.items()):
        with editing() as files:
            for name, value in before.shadow.items():
                files.set_password(name, value or NO_PASSWORD)
    accounts.set_hashes(config, {}, {name: value for name, value in before.nt.items() if name != ADMIN}, run)
    without = [name for name in before.shadow if name not in before.nt]
    made = nt_hashes(without, run) if without else {}
    if made:
        remove_smb(list(made), run)
        reload_direct(run)
