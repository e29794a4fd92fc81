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


def source() -> Path | None:
    """Return the file that the policy is read from; None where there is none and the defaults are used."""
    return next((path for path in _candidates() if path.exists()), None)


def _candidates() -> list[Path]:
    # One place for every unit and for an administrator at the console: credentials of units are out of reach of a
    # shell and of ExecReload=, so tmpfiles.d/millrace.conf copies this one, which is no secret, at every boot.
    return [paths.policy_file(), paths.run_dir() / "policy.toml"]
