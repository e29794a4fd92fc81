# SPDX-License-Identifier: Apache-2.0
"""Changes of the policy file: keys are set in its text, so that comments stay, and the whole is validated first."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from millrace.plan.policy import keys, policy_in_force
from millrace.plan.policy.keys import PolicyChange, PolicyChanges
from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_file import parse_policy, source
from millrace.system import locks, paths
from millrace.system.errors import BadInput, Failed
from millrace.system.files import write_text
from millrace.system.run import Runner, last_words
from millrace.system.text import shown
from millrace.system.units import SHARES, TUNE

DEFAULT = "default"
JOURNAL = "millrace-journal.service"
UNITS = {"drives": (), "scrub": (), "journal": (JOURNAL,), "smb_direct": (SHARES,)}
"""What applies a section at once; checks and replacements read it when they begin. All others: tuning and shares."""


def changing() -> AbstractContextManager[None]:
    """Return the lock of the policy file: two changes at once would lose one of them."""
    return locks.held(paths.run_dir() / "policy.lock")


def current() -> str:
    """Return the text of the policy; that of the credential where there is no file, for the file is read alone.

    BadInput: it cannot be read.
    """
    path = source()
    try:
        return path.read_text() if path is not None else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from error


def assigned(words: Sequence[str]) -> dict[str, Any]:
    """Return the values of `layout.spares=2`, `nfs.networks=10.1.0.0/24,10.2.0.0/24`; None for `default`.

    BadInput: a word is no assignment, or there is no such key.
    """
    known = {f"{section}.{name}": field for section, name, field in keys.fields()}
    values: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        key, text = key.strip(), text.strip()
        if not equals:
            raise BadInput(f"{shown(word)} is not KEY=VALUE, such as layout.spares=2; all keys: millrace policy show")
        if key not in known:
            raise BadInput(f"the policy has no key {shown(key)}; all keys: millrace policy show")
        is_list = keys.taken(known[key]) == "a list"
        values[key] = None if text == DEFAULT else _value(text, is_list)
    return values


def with_keys(text: str, values: Mapping[str, Any]) -> str:
    """Return the text of a policy with these values; a None removes the key.

    BadInput: the text is no TOML, or writes a key in a way that only an editor can change.
    """
    try:
        expected: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the policy is not valid TOML: {error}; correct it: millrace policy edit") from error
    for key, value in values.items():
        section, _, name = key.partition(".")
        table = expected.setdefault(section, {})
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
        text = _with_key(text, section, name, value)
    try:
        made = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        made = {}
    if _filled(made) != _filled(expected):
        raise BadInput(
            "the policy writes this key in another way than `[section]` and `key = value`: millrace policy edit"
        )
    return text


def difference(text: str) -> list[PolicyChange]:
    """Return what a text changes of the policy in force. BadInput: it is no policy, with the key."""
    after = parse_policy(text, str(paths.policy_file()))
    return keys.changes(_before(), after)


def keep(text: str, run: Runner) -> PolicyChanges:
    """Write the policy file and apply what takes effect at once.

    BadInput: it is no policy; nothing is written. Failed: it is kept, and a unit could not apply it.
    """
    changed, path = difference(text), paths.policy_file()
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    write_text(path, text, mode)
    policy_in_force.save_last_good()
    return PolicyChanges(file=str(path), changes=changed, applied=_apply(changed, run))


def restore(text: str | None, run: Runner) -> None:
    """Put back the policy file as it was, None for no file, and apply it. Failed: a unit could not apply it."""
    before, path = _before(), paths.policy_file()
    if text is None:
        path.unlink(missing_ok=True)
    else:
        write_text(path, text, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    policy_in_force.save_last_good()
    _apply(keys.changes(before, _before()), run)


def _before() -> Policy:
    try:
        return policy_in_force.find().policy
    except BadInput:
        return Policy()


def _apply(changed: Sequence[PolicyChange], run: Runner) -> list[str]:
    sections = dict.fromkeys(each.key.partition(".")[0] for each in changed if each.when == "now")
    units = dict.fromkeys(unit for section in sections for unit in UNITS.get(section, (TUNE, SHARES)))
    for unit in units:
        # without a pool nothing is tuned or served yet; the journal is forwarded without one
        verb = "restart" if unit == JOURNAL else "try-reload-or-restart"
        result = run(["systemctl", verb, unit])
        if result.status != 0:
            raise Failed(f"the policy was changed, and {unit} could not apply it: {last_words(result)}")
    return list(units)


def _value(text: str, is_list: bool) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = [part.strip() for part in text.split(",") if part.strip()] if is_list else text
    return [value] if is_list and not isinstance(value, list) else value


def _with_key(text: str, section: str, name: str, value: Any) -> str:
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    new = [f"{name} = {_toml(value)}\n"] if value is not None else []
    header = re.compile(rf"\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?$")
    start = next((number for number, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        return "".join([*lines, *(["\n"] if lines else []), f"[{section}]\n", *new]) if new else text
    end = next((at for at in range(start + 1, len(lines)) if re.match(r"\s*\[", lines[at])), len(lines))
    for first in range(start + 1, end):
        if re.match(rf"\s*{re.escape(name)}\s*=", lines[first]):
            last = next((at for at in range(first + 1, end + 1) if _is_toml(lines[first:at])), first + 1)
            return "".join([*lines[:first], *new, *lines[last:]])
    return "".join([*lines[: start + 1], *new, *lines[start + 1 :]])


def _is_toml(lines: Sequence[str]) -> bool:
    try:
        tomllib.loads("".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _filled(document: Mapping[str, Any]) -> dict[str, Any]:
    return {section: table for section, table in document.items() if table != {}}
