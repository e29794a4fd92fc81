# SPDX-License-Identifier: Apache-2.0
"""The documents of Millrace: the base of every model, how a JSON file is read and written, what is wrong with one."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from millrace.system.errors import BadInput, LaterRelease
from millrace.system.files import write_text
from millrace.system.model_errors import problem, sentence
from millrace.system.text import shown

Result = TypeVar("Result")
Model = TypeVar("Model", bound=BaseModel)
Migration = Callable[[dict[str, Any]], dict[str, Any]]

# A model may build those that it consists of.
_BUILDING = RLock()
_MIGRATIONS: dict[type[BaseModel], Migration] = {}

# Bytes, and things that are counted: a file with a negative one is broken.
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Deferred(BaseModel):
    """A model whose schema is built at its first use, by one thread at a time."""

    # A command uses few of the models that it imports (a seventh of the time of a short one).
    model_config = ConfigDict(defer_build=True)

    @classmethod
    def model_rebuild(cls, *, _parent_namespace_depth: int = 2, **options: Any) -> bool | None:
        """Build the schema as pydantic does; a thread that comes meanwhile waits and finds it built.

        Two threads of pydantic's own take the attributes of the model from each other: a scan of the drives failed so.
        """
        with _BUILDING:
            return super().model_rebuild(_parent_namespace_depth=_parent_namespace_depth + 1, **options)


class Contract(Deferred):
    """The base of all documents; unknown keys are refused in input, ignored in what Millrace wrote (`read_model`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def write_model(path: Path, model: BaseModel, mode: int = 0o644) -> bool:
    """Write a contract as indented JSON; return False if nothing changed."""
    return write_text(path, model.model_dump_json(indent=2) + "\n", mode)


def read_model(path: Path, kind: type[Model]) -> Model:
    """Read a document that Millrace wrote. BadInput: it is not valid; names the file and the first wrong key.

    Keys that this release does not know are ignored and the schema may be the one before (see `migration`): an update
    or a rollback must not stop a server. LaterRelease: a document of a later schema, whose meaning is not known; the
    release that wrote it is named where the document has it.
    """
    return parse_model(_text(path), path, kind)


def parse_model(text: str | bytes, path: Path, kind: type[Model]) -> Model:
    """Return a document that Millrace wrote, from its text; `path` stands in errors.

    BadInput, LaterRelease: as for `read_model`.
    """
    try:
        return kind.model_validate_json(text, extra="ignore")
    except ValidationError as error:
        migrated = _migrated(path, text, kind)
        if migrated is None:
            raise _unreadable(path, error) from error
    try:
        return kind.model_validate_json(migrated, extra="ignore")
    except ValidationError as error:
        raise _unreadable(path, error) from error


def read_input(path: Path, kind: type[Model]) -> Model:
    """Read a document that a user wrote or named; an unknown key is an error. BadInput: as for `read_model`."""
    try:
        return kind.model_validate_json(_text(path))
    except ValidationError as error:
        raise _unreadable(path, error) from error


def migration(kind: type[BaseModel]) -> Callable[[Migration], Migration]:
    """Register how a document of the schema before becomes one of `kind`; the function is pure.

    It gets the parsed document and returns another, without `schema_version`, which is set here.
    """

    def register(function: Migration) -> Migration:
        _MIGRATIONS[kind] = function
        return function

    return register


def checked(make: Callable[[], Result]) -> Result:
    """Return what `make` returns. BadInput: a model refuses it; one sentence."""
    try:
        return make()
    except ValidationError as error:
        raise BadInput(sentence(error)) from error


def _migrated(path: Path, text: str | bytes, kind: type[BaseModel]) -> str | None:
    """The document in today's schema; None where the schema is not what is wrong with it."""
    own = _schema(kind)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    schema = document.get("schema_version") if isinstance(document, dict) else None
    if own is None or not isinstance(schema, int) or schema == own:
        return None
    if schema == own - 1 and kind in _MIGRATIONS:
        return json.dumps({**_MIGRATIONS[kind](document), "schema_version": own})
    if schema > own:
        release = document.get("release") if isinstance(document.get("release"), str) else None
        which = f"release {shown(release)}, a later one" if release else "a later release"
        raise LaterRelease(
            f"{path} was written by {which} (schema {schema}, this release reads schema {own}): "
            "start the later release again",
            release,
        )
    raise BadInput(f"{path} was written by an earlier release (schema {schema}), which this release does not read")


def _schema(kind: type[BaseModel]) -> int | None:
    field = kind.model_fields.get("schema_version")
    return field.default if field is not None and isinstance(field.default, int) else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError as error:
        raise BadInput(f"{path} is missing") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: the document: this is not text") from error


def _unreadable(path: Path, error: ValidationError) -> BadInput:
    return BadInput(f"{path}: {problem(error)}")
