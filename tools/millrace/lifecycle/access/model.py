# SPDX-License-Identifier: Apache-2.0
"""What the verbs of access print."""

from typing import Literal

from millrace.lifecycle.access.change_log import ChangeEntry
from millrace.lifecycle.access.people import PersonEntry, listed
from millrace.lifecycle.access.sessions import SessionEntry
from millrace.lifecycle.access.ssh_switch import is_on
from millrace.serve.config import store
from millrace.system.documents import Contract
from millrace.system.errors import BadInput
from millrace.system.roles import GROUPS, Role, caller
from millrace.system.run import Runner


class AccessList(Contract):
    """The people who manage this server, and whether ssh accepts connections."""

    schema_version: Literal[1] = 1
    people: list[PersonEntry]
    ssh: bool


class WhoReport(Contract):
    """For whom this process runs; `role` is null where the account has none."""

    schema_version: Literal[1] = 1
    name: str
    role: Role | None


class EnrolmentReport(Contract):
    """A secret that waits for its first code: in base32, and as the link in a QR code."""

    schema_version: Literal[1] = 1
    name: str
    secret: str
    uri: str


class RecoveryCodes(Contract):
    """Codes that sign in once each where the app is lost; they are not shown again."""

    schema_version: Literal[1] = 1
    name: str
    codes: list[str]


class SshReport(Contract):
    """Whether ssh accepts connections."""

    schema_version: Literal[1] = 1
    ssh: bool


class SignInList(Contract):
    """The sessions of this server."""

    schema_version: Literal[1] = 1
    sessions: list[SessionEntry]


class ChangeLog(Contract):
    """The changing verbs that people ran, newest first."""

    schema_version: Literal[1] = 1
    changes: list[ChangeEntry]


def access_list(run: Runner) -> AccessList:
    """Return the people of this server."""
    return AccessList(people=listed(store.load()), ssh=is_on(run))


def who() -> WhoReport:
    """Return for whom this process runs."""
    person = caller()
    return WhoReport(name=person.name, role=person.role)


def as_role(text: str) -> Role:
    """Return a role by its name. BadInput: there is no such role."""
    for role in GROUPS:
        if role == text:
            return role
    raise BadInput(f"{text} is no role: administrator, operator or viewer")
