# SPDX-License-Identifier: Apache-2.0
"""The source of the policy: the file of the administrator, else the credential of this boot, else the defaults."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from millrace.plan.policy.model import Policy
from millrace.system import paths
from millrace.system.errors import BadInput, Refused
from millrace.system.model_errors import problem


def load_policy() -> Policy:
    """Read the policy; the defaults where there is no file.

    BadInput: it is not valid; names the file and the key. Refused: only root may read it.

    A policy that exists and cannot be read is an error, never the defaults: another policy is another plan.
    """
    for path in _candidates():
        try:
            text = path.read_text()
        except FileNotFoundError:
            continue
        except PermissionError as error:
            raise Refused(f"{path} is readable by root only; run this command with sudo") from error
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path} cannot be read: {error}") from error
        return parse_policy(text, str(path))
    return Policy()


def parse_policy(text: str, origin: str) -> Policy:
    """Parse a policy in TOML; `origin` is the file's name for errors. BadInput: no TOML, or a wrong key."""
    try:
        return Policy.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{origin} is not valid TOML: {error}") from error
    except ValidationError as error:
        raise BadInput(f"{origin}: {problem(error)}") from error


def parse_known(text: str, origin: str) -> tuple[Policy, list[str]]:
    """Parse a policy that another version may have written, without the keys that this one does not know.

    Return these keys as well. BadInput: no TOML, or a wrong value.
    """
    try:
        values = tomllib.loads(text)
        Policy.model_validate(values)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{origin} is not valid TOML: {error}") from error
    except ValidationError as error:
        unknown = [each["loc"] for each in error.errors() if each["type"] == "extra_forbidden"]
    else:
        unknown = []
    for *above, key in unknown:
        table = values
        for name in above:
            table = table[str(name)]
        del table[str(key)]
    try:
        policy = Policy.model_validate(values)
    except ValidationError as error:
        raise BadInput(f"{origin}: {problem(error)}") from error
    return policy, sorted(".".join(map(str, place)) for place in unknown)


def source() -> Path | None:
    """Return the file that the policy is read from; None where there is none and the defaults are used."""
    return next((path for path in _candidates() if path.exists()), None)


def _candidates() -> list[Path]:
    # One place for every unit and for an administrator at the console: credentials of units are out of reach of a
    # shell and of ExecReload=, so tmpfiles.d/millrace.conf copies this one, which is no secret, at every boot.
    return [paths.policy_file(), paths.run_dir() / "policy.toml"]
