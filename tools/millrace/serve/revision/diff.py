# SPDX-License-Identifier: Apache-2.0
"""Rendered files compared with the files on disk: what the next rendering would change, and what was edited by hand."""

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from millrace.plan.policy.policy_in_force import in_force
from millrace.serve.certificate import cockpit
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.log_forward import forward
from millrace.serve.network import addressing
from millrace.serve.render.reconcile import FileDifference, compare
from millrace.serve.render.registry import RenderedService
from millrace.serve.share.server import ShareServer, this_server
from millrace.system import paths
from millrace.system.documents import Contract
from millrace.system.run import Runner
from millrace.system.users import only_root


class FileDiff(Contract):
    """One file that is not as it would be rendered. `unit` reads it, empty where each program reads it by itself.

    `edited`: it was changed by hand since it was rendered. `lines` are a unified diff, from the file to what would be
    rendered.
    """

    path: str
    unit: str
    action: Literal["create", "change", "remove"]
    edited: bool
    lines: list[str]


class ConfigDiff(Contract):
    """The rendered files that differ; `files_compared` is how many there are in all."""

    schema_version: Literal[1] = 1
    files_compared: int
    files: list[FileDiff]


def diff(run: Runner, server: Callable[[], ShareServer] = this_server) -> ConfigDiff:
    """Render the desired state and compare; writes nothing. Waits while a change is under way.

    Refused: the caller is not root. Raises what rendering raises, such as BadInput for a policy that cannot be read.
    """
    only_root()
    with store.config_lock():
        services = _services(store.load(), run, server)
        found = [(service.unit, one) for service in services for one in compare([service])]
    return ConfigDiff(files_compared=len(found), files=[_file(unit, one) for unit, one in found if one.differs])


def lines(found: ConfigDiff) -> Iterator[str]:
    """Yield text for a terminal."""
    if not found.files:
        yield f"All {found.files_compared} rendered files are as configured."
    for one in found.files:
        by_hand = " (edited by hand)" if one.edited else ""
        yield f"{one.path}{by_hand} would be {one.action}d"
        yield from one.lines


def _services(config: Config, run: Runner, server: Callable[[], ShareServer]) -> Sequence[RenderedService]:
    """What every room renders. Without a pool shares are not served yet."""
    services = [addressing.service(config), forward.service(in_force().journal, run), cockpit.service()]
    if paths.pool_file().exists():
        host = server()
        services += host.services(config, host.shares(config))
    return services


def _file(unit: str, one: FileDifference) -> FileDiff:
    path = f"/{one.entry.path}"
    action: Literal["create", "change", "remove"] = "change"
    if one.found is None or one.wanted is None:
        action = "create" if one.found is None else "remove"
    found, wanted = ((text or b"").decode(errors="replace").splitlines() for text in (one.found, one.wanted))
    lines = difflib.unified_diff(found, wanted, path, f"{path} (rendered)", lineterm="")
    return FileDiff(path=path, unit=unit, action=action, edited=one.edited, lines=list(lines))
