# SPDX-License-Identifier: Apache-2.0
"""What rooms above the desired state keep, and what moves with it from server to server."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from pydantic import JsonValue

from millrace.system.run import Runner


class Carried(ABC):
    """One thing that `config export` writes and `config import` takes back, under `key`. Secrets are no part of it.

    `title` is what it is called in sentences.
    """

    key: str
    title: str

    @abstractmethod
    def exported(self) -> JsonValue:
        """Return it as JSON. BadInput: it cannot be read."""

    @abstractmethod
    def check(self, value: JsonValue) -> None:
        """Verify what an exported file has of it; nothing is changed. BadInput: it is not valid, one sentence."""

    @abstractmethod
    def take(self, value: JsonValue, run: Runner) -> list[str]:
        """Replace what this server has by it; return a sentence for each thing that an administrator has to add.

        BadInput: it is not valid. Failed: the service that uses it does not start.
        """


_known: dict[str, Carried] = {}


def register(one: Carried) -> None:
    """Have it exported and imported. The command line imports the modules that call this, see CARRIED in cli.py."""
    _known[one.key] = one


def known() -> Mapping[str, Carried]:
    """Return what was registered, by key."""
    return _known
