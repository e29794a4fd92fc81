# SPDX-License-Identifier: Apache-2.0
"""Administrators, operators and viewers: create, change, lock and remove them."""

from collections.abc import Callable
from typing import Literal

from millrace.serve.account import accounts, edit, second_factor
from millrace.serve.account.account_change import AccountChange
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN, Config, Person
from millrace.serve.render.reconcile import Reconciliation
from millrace.system import ssh_keys
from millrace.system.command import command
from millrace.system.documents import Contract, checked
from millrace.system.errors import BadInput, Refused
from millrace.system.roles import Role
from millrace.system.run import Runner
from millrace.system.text import shown
from millrace.system.users import invoking_user, only_root


class KeyEntry(Contract):
    """A public SSH key. `security_key`: the private half is in a FIDO2 key, which has to be touched."""

    type: str
    fingerprint: str
    comment: str
    security_key: bool


class PersonEntry(Contract):
    """An account that manages this server. `second_factor` and `recovery_codes` are null without root's rights."""

    name: str
    full_name: str
    role: Role
    locked: bool
    keys: list[KeyEntry]
    second_factor: bool | None
    recovery_codes: int | None


class PersonReport(Contract):
    """The result of a change of an account, in a sentence; `person` is null where it was removed."""

    schema_version: Literal[1] = 1
    person: PersonEntry | None
    done: str


def listed(config: Config) -> list[PersonEntry]:
    """Return the people of a state."""
    return [entry(name, person, role) for name, (person, role) in config.people.items()]


def entry(name: str, person: Person, role: Role) -> PersonEntry:
    """Return an account as verbs show it."""
    with_code: bool | None = None
    left: int | None = None
    try:
        with_code, left = second_factor.is_on(name), second_factor.recovery_codes_left(name)
    except PermissionError:
        with_code, left = None, None
    return PersonEntry(
        name=name,
        full_name=person.full_name,
        role=role,
        locked=person.locked,
        keys=[_key(ssh_keys.parsed(key)) for key in person.keys],
        second_factor=with_code,
        recovery_codes=left,
    )


def create(name: str, role: Role, full_name: str, password: str, run: Runner, key: str = "") -> PersonReport:
    """Create an account with a password and perhaps an SSH key. BadInput: a name, the password or the key is not valid.

    Refused: the caller is not root, the system has an account of this name, or the key is for no administrator.
    """
    keys = [valid_key(name, role, key)] if key.strip() else []
    edit.create_user(name, [], password, run, role, full_name, keys)
    return _report(name, f"Created {name}, {role}.")


def change(name: str, run: Runner, role: Role | None = None, full_name: str | None = None) -> PersonReport:
    """Change the role or the full name; sessions end where the role allows less than before.

    Refused: there is no such person, it is the last administrator, the caller, or `admin`, whose role stays.
    """
    if role not in (None, "administrator") and name == ADMIN:
        raise Refused(
            f"{ADMIN} is the account for an emergency at the console and stays an administrator: lock it instead, "
            + command("millrace access lock", ADMIN)
        )
    update = {
        key: value
        for key, value in (("role", role), ("full_name", full_name))
        if value is not None and (name, key) != (ADMIN, "role")
    }
    words = ", ".join(str(value) for value in (role, full_name) if value is not None) or "no change"
    _change(name, f"access set {name}: {words}", lambda person: person.model_dump() | update, run)
    return _report(name, f"{name}: {words}.")


def lock(name: str, run: Runner, locked: bool = True) -> PersonReport:
    """Let an account sign in by nothing until `unlock`; sessions end. Refused: as for `change`."""
    verb = "lock" if locked else "unlock"
    _change(name, f"access {verb} {name}", lambda person: person.model_dump() | {"locked": locked}, run)
    return _report(name, f"{name} is {verb}ed.")


def remove(name: str, run: Runner) -> PersonReport:
    """Remove an account; sessions end, files in the home directory stay. Refused: as for `change`."""
    only_root()
    if name == ADMIN:
        raise Refused(
            f"{ADMIN} is the account for an emergency at the console and cannot be removed: lock it instead, "
            + command("millrace access lock", ADMIN)
        )

    def mutate(config: Config) -> Config:
        _existing(config, name)
        return config.model_copy(update={"users": [user for user in config.users if user.name != name]})

    store.change(invoking_user(), f"access remove {name}", mutate, Reconciliation([AccountChange(run)]))
    return PersonReport(person=None, done=f"{name} has been removed.")


def add_key(name: str, text: str, run: Runner) -> PersonReport:
    """Add a public SSH key. BadInput: it is none, or it is there already. Refused: no such person, or a viewer."""
    key = ssh_keys.parsed(valid_key(name, _existing(store.load(), name)[1], text))

    def add(person: Person) -> dict[str, object]:
        return person.model_dump() | {"keys": [*person.keys, key.line]}

    _change(name, f"access key add {name} {key.fingerprint}", add, run)
    return _report(name, f"{name} signs in over ssh with {key.fingerprint}.")


def valid_key(name: str, role: Role, text: str) -> str:
    """Return a public SSH key in its normal form. BadInput: it is none. Refused: the role signs in by no key."""
    try:
        key = ssh_keys.normal(text)
    except ValueError as error:
        raise BadInput(str(error)) from error
    if role != "administrator":
        raise Refused(f"{name} is {'an' if role == 'operator' else 'a'} {role}, and ssh is for administrators only")
    return key


def remove_key(name: str, fingerprint: str, run: Runner) -> PersonReport:
    """Remove an SSH key by its fingerprint. Refused: there is no such person or key."""

    def drop(person: Person) -> dict[str, object]:
        keys = [key for key in person.keys if ssh_keys.parsed(key).fingerprint != fingerprint]
        if len(keys) == len(person.keys):
            raise Refused(f"{name} has no key {shown(fingerprint)}: millrace access list")
        return person.model_dump() | {"keys": keys}

    _change(name, f"access key remove {name} {fingerprint}", drop, run)
    return _report(name, f"{fingerprint} does not open {name} any more.")


def refresh(run: Runner) -> None:
    """Have the groups of all people follow their second factors."""
    config = store.load()
    people = [user for user in config.users if user.role is not None]
    accounts.ensure(people, [], run, config.admin)


def _change(name: str, what: str, after: Callable[[Person], dict[str, object]], run: Runner) -> None:
    only_root()

    def mutate(config: Config) -> Config:
        before = _existing(config, name)[0]
        person = checked(lambda: type(before).model_validate(after(before)))
        if name == ADMIN:
            return config.model_copy(update={"admin": person})
        return config.model_copy(update={"users": [person if user.name == name else user for user in config.users]})

    store.change(invoking_user(), what, mutate, Reconciliation([AccountChange(run)]))


def _existing(config: Config, name: str) -> tuple[Person, Role]:
    if name not in config.people:
        hint = "a user of shares without a role" if config.user(name) else "no account that manages this server"
        raise Refused(f"{shown(name)} is {hint}: millrace access list")
    return config.people[name]


def _report(name: str, done: str) -> PersonReport:
    return PersonReport(person=entry(name, *_existing(store.load(), name)), done=done)


def _key(key: ssh_keys.SshKey) -> KeyEntry:
    return KeyEntry(type=key.type, fingerprint=key.fingerprint, comment=key.comment, security_key=key.security_key)
