# SPDX-License-Identifier: Apache-2.0
"""Completion of names in the desired state: shares, users and groups."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from millrace.system.completion import completes

if TYPE_CHECKING:
    from millrace.serve.config.model import Config


def _config() -> "Config":
    from millrace.serve.config.store import read

    return read().config


def _users() -> Iterator[str]:
    from millrace.serve.config.model import ADMIN

    yield ADMIN
    yield from (user.name for user in _config().users)


SHARES = completes(lambda: (share.name for share in _config().shares))
USERS = completes(_users)
GROUPS = completes(lambda: (group.name for group in _config().groups))
