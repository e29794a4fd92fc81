# SPDX-License-Identifier: Apache-2.0
"""Replicas are added, paused, resumed and removed."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from millrace.protect.replica import replica_source
from millrace.protect.replica.replica_job import JOB, ORDER, source_of
from millrace.protect.replica.replica_model import STATES, ReplicaChange, ReplicaState, ReplicaStates
from millrace.protect.replica.replica_stage import ReplicaStage
from millrace.protect.snapshot.snapshot_schedule import stamp
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.protocols import Nfs, Smb
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share import edit, kept_snapshots
from millrace.serve.share.server import ShareServer
from millrace.system.command import command
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Refused
from millrace.system.text import shown
from millrace.system.users import invoking_user, only_root

_PERIOD = re.compile(r"([1-9][0-9]{0,5})(m|h|d)")
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}
_PLACE = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<v4>[^:\[\]]+)):(?P<share>[^:/]+)")


def minutes(text: str) -> int:
    """Return a period in minutes. BadInput: it is none, like `15m`, `6h` or `1d`."""
    matched = _PERIOD.fullmatch(text)
    if matched is None:
        raise BadInput(f"{shown(text)} is no period: write it like 15m, 6h or 1d")
    return int(matched[1]) * _MINUTES[matched[2]]


def parsed(text: str) -> tuple[str, str]:
    """Return the address and the share of `ADDRESS:SHARE`, an IPv6 address in brackets. BadInput: it is neither."""
    matched = _PLACE.fullmatch(text)
    if matched is None:
        raise BadInput(f"{shown(text)} is no share of another server: write it like 10.0.0.7:data")
    return matched["v6"] or matched["v4"], matched["share"]


def add(
    place: str,
    name: str | None,
    settings: Mapping[str, Any],
    authority: tuple[str, str],
    server: Callable[[], ShareServer],
) -> ReplicaChange:
    """Add a replica of a share of another server: a share that nobody opens before it is promoted.

    `authority` is the PEM text of the CA of the source, and its fingerprint, which was confirmed. `settings` are
    `every` in minutes and `keep`. BadInput: a name, an address or a number is none. Refused: the name is taken, the
    source is this server, or a former share of the name has snapshots.
    """
    only_root()
    address, share = parsed(place)
    own = name or share
    text, fingerprint = authority
    source = checked(
        lambda: ReplicaSource(address=address, share=share, authority=text, fingerprint=fingerprint, **settings)
    )
    host = server()
    if source.address in {str(each.ip) for port in host.ports for each in port.addresses}:
        raise Refused(f"{source.address} is this server: a replica is on another one; see millrace snapshot schedule")
    if kept_snapshots.names(own, host.pool.filesystem.mountpoint):
        listed = command("millrace snapshot list", own)
        raise Refused(f"a share or a former share {own} has snapshots ({listed}): choose another --name")

    def mutate(config: Config) -> Config:
        if config.share(own) is not None:
            raise Refused(f"share {own} exists: choose another --name; a replica is a share of its own")
        made = checked(
            lambda: DesiredShare(
                name=own,
                type="mixed",
                comment=f"replica of {source.place}",
                project=config.next_project,
                nfs=Nfs(enabled=False),
                smb=Smb(enabled=False),
                replica=source,
            )
        )
        return config.model_copy(update={"shares": [*config.shares, made]})

    report = edit.change([own], f"replica add {source.place} as {own}", mutate, lambda: host)
    replica_source.trust_sources(store.load(), host.run)
    forget(own)
    STATES.write((STATES.get() or ReplicaStates()).with_state(ReplicaState(share=own, since=stamp(datetime.now(UTC)))))
    done = [f"{own} is a replica of {source.place}, brought up to date every {source.every} minutes"]
    return ReplicaChange(share=own, done=done, warnings=report.warnings)


def pause(name: str, is_paused: bool) -> ReplicaChange:
    """Pause a replica, or resume it; a run under way goes on. BadInput, Refused: it is none, or is so already."""
    only_root()

    def mutate(config: Config) -> Config:
        source = source_of(config, name)
        if source.paused == is_paused:
            raise Refused(f"replica {name} is {'paused' if is_paused else 'not paused'}: nothing was changed")
        return _with(config, name, source.model_copy(update={"paused": is_paused}))

    what = "pause" if is_paused else "resume"
    store.change(invoking_user(), f"replica {what} {name}", mutate)
    done = "is paused: it gets older until it is resumed" if is_paused else "is resumed"
    return ReplicaChange(share=name, done=[f"replica {name} {done}"])


def remove(name: str, again: str, server: Callable[[], ShareServer]) -> ReplicaChange:
    """Remove a replica; its snapshots stay, as those of a former share. `again` is its name, to confirm.

    BadInput: `name` is no name, or was not repeated. Refused: it is no replica, or a run of it is under way.
    """
    only_root()
    source = source_of(store.load(), name)
    if again.strip() != name:
        raise BadInput(f"the name of the replica was repeated as {shown(again)}, not {name}: nothing was changed")
    host = server()
    refuse_running(name, host)
    # nobody could open its directory, which is empty
    report = edit.remove_share(name, name, lambda: host)
    ReplicaStage(SnapshotStore(host.pool.filesystem.mountpoint), name).clear(host.run)
    forget(name)
    replica_source.trust_sources(store.load(), host.run)
    deny = command("millrace replica deny", source.share)
    done = [f"{name} is no replica of {source.place} any more; on the source: {deny} ADDRESS"]
    return ReplicaChange(share=name, done=done, warnings=report.warnings)


def refuse_running(name: str, server: ShareServer) -> None:
    """Refused: a run of this replica is under way."""
    order = ORDER.get()
    if order is not None and order.share == name and JOB.runs(server.run):
        raise Refused(f"replica {name} is being brought up to date: millrace job cancel replica")


def forget(name: str) -> None:
    """Forget how the runs of a replica ended."""
    states = STATES.get() or ReplicaStates()
    STATES.write(ReplicaStates(replicas=[state for state in states.replicas if state.share != name]))


def _with(config: Config, name: str, source: ReplicaSource) -> Config:
    shares = [each.model_copy(update={"replica": source}) if each.name == name else each for each in config.shares]
    return config.model_copy(update={"shares": shares})
