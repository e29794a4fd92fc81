# SPDX-License-Identifier: Apache-2.0
"""The desired state in a file that moves a server: all that an administrator decided, passwords as hashes only."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from millrace.serve.account import accounts
from millrace.serve.config import carried
from millrace.serve.config.model import AccountName, Config
from millrace.serve.config.network import DesiredModel
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Refused
from millrace.system.model_errors import sentence
from millrace.system.run import Runner
from millrace.system.smb_passwords import nt_hashes
from millrace.system.text import shown

READS = 1  # schema
# 1000 shares are half a MiB.
LARGEST = 64 << 20

# What stands in shadow(5) between two colons; what NT hashes look like.
ShadowHash = Annotated[str, Field(pattern=r"^\$[!-9;-~]{1,300}$")]
NtHash = Annotated[str, Field(pattern=r"^[0-9A-F]{32}$")]


class Portable(DesiredModel):
    """An exported state. `when` is ISO 8601 in UTC. `carried` is what other rooms keep, by its key, without secrets."""

    schema_version: Literal[1] = 1
    kind: Literal["millrace-config"] = "millrace-config"
    when: str
    config: Config
    shadow: dict[AccountName, ShadowHash]
    nt: dict[AccountName, NtHash]
    carried: dict[str, JsonValue] = Field(default_factory=dict)


def export(config: Config, path: Path, run: Runner) -> Portable:
    """Write the state with the hashes of its users; only the owner of the file may read it.

    Refused: its directory does not exist; a typing error creates none, least of all for hashes.
    """
    if not path.parent.is_dir():
        raise Refused(f"directory {path.parent} does not exist; create it or choose another file")
    # who manages this server gets another password on the other one: no file opens a console
    names = [user.name for user in config.users if user.role is None]
    made = Portable(
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        config=config,
        shadow=accounts.shadow_hashes(names),
        nt=nt_hashes(names, run) if names else {},
        carried={key: part.exported() for key, part in carried.known().items()},
    )
    try:
        write_model(path, made, mode=0o600)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}") from error
    return made


def read(path: Path) -> Portable:
    """Return an exported state. Refused: it has another schema. BadInput: it is none."""
    try:
        text = _text(path)
        document = json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        why = "a .toml file is for millrace apply" if path.suffix == ".toml" else why
        raise BadInput(f"{path} is not an exported configuration: {why}") from error
    inner = document.get("config") if isinstance(document, dict) else None
    if not isinstance(inner, dict) or document.get("kind") != "millrace-config":
        raise BadInput(f"{path} is not an exported configuration: millrace config export writes one")
    schemas = [document.get("schema_version"), inner.get("schema_version")]
    other = next((schema for schema in schemas if schema != READS), READS)
    if other != READS:
        raise Refused(
            f"{path} was exported with schema {other}, this release reads schema {READS}: "
            "import it with the release that exported it"
        )
    try:
        portable = Portable.model_validate_json(text)
    except ValidationError as error:
        raise BadInput(f"{path}: {sentence(error)}") from error
    unknown_users = (set(portable.shadow) | set(portable.nt)) - {user.name for user in portable.config.users}
    if unknown_users:
        raise BadInput(f"{path} has a password of {min(unknown_users)}, who is not a user in it")
    for key, value in portable.carried.items():
        if key not in carried.known():
            raise BadInput(f"{path} has {shown(key)}, which this release does not know: import it with a later release")
        try:
            carried.known()[key].check(value)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from error
    return portable


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 20} MiB")
    return data.decode()
