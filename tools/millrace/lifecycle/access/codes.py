# SPDX-License-Identifier: Apache-2.0
"""Second factors by verb: each person their own, an administrator those of all."""

import socket
from datetime import UTC, datetime

from millrace.lifecycle.access.model import EnrolmentReport, RecoveryCodes
from millrace.lifecycle.access.people import PersonReport, entry, refresh
from millrace.serve.account import second_factor
from millrace.serve.config import audit_log, store
from millrace.serve.config.model import Person
from millrace.system.errors import Refused
from millrace.system.roles import Role, caller
from millrace.system.run import Runner
from millrace.system.text import shown
from millrace.system.users import only_root


def is_own(name: str | None) -> bool:
    """Whether this is the account of the caller, which it is where none is given."""
    return name is None or name == caller().name


def enroll(name: str | None) -> EnrolmentReport:
    """Make a secret; nothing asks for its codes yet.

    Refused: the caller is not root, this is another person, or there is a second factor already.
    """
    account = _allowed(name)
    secret = second_factor.begin(account)
    return EnrolmentReport(
        name=account, secret=secret, uri=second_factor.uri(account, socket.gethostname() or "millrace", secret)
    )


def confirm(name: str | None, code: str, run: Runner) -> RecoveryCodes:
    """Ask for codes from now on. Refused: the code is wrong, see `second_factor.confirm`. BadInput: it is none."""
    account = _allowed(name)
    codes = second_factor.confirm(account, code, datetime.now(UTC))
    refresh(run)
    audit_log.note(f"{caller().name} turned on the second factor of {account}")
    return RecoveryCodes(name=account, codes=codes)


def remove(name: str | None, code: str | None, run: Runner) -> PersonReport:
    """Let an account sign in without a code. The caller's own needs a code: an open session does not suffice.

    Refused: the code is wrong, there is no second factor, or this is another person. BadInput: the code is none.
    Failed: the file with the secret is damaged.
    """
    account = _allowed(name)
    if not second_factor.is_on(account):
        raise Refused(f"{account} has no second factor")
    if is_own(name):
        second_factor.prove(account, code or "", datetime.now(UTC))
    second_factor.remove(account)
    refresh(run)
    audit_log.note(f"{caller().name} removed the second factor of {account}")
    person, role = _person(account)
    return PersonReport(person=entry(account, person, role), done=f"{account} signs in without a code.")


def _allowed(name: str | None) -> str:
    """The account, where the caller may change its second factor."""
    only_root()
    who = caller()
    account = name or who.name
    if account != who.name and not who.may("administrator"):
        raise Refused(f"the second factor of {shown(account)} is changed by that person or by an administrator")
    _person(account)
    return account


def _person(account: str) -> tuple[Person, Role]:
    people = store.load().people
    if account not in people:
        raise Refused(f"{shown(account)} is no account that manages this server: millrace access list")
    return people[account]
