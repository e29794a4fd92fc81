# SPDX-License-Identifier: Apache-2.0
"""Work grows with the number of shares and no faster, whether one is changed, all are rendered, or all are listed."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from typing import Any

import pytest

from millrace.observe.health.checks import shares
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.share.edit import create_shares, set_share
from millrace.serve.share.share_list import listed, rows
from millrace.system import render
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.samples import pool, port
from tests.unit.observe.health.servers import host

FEW, MANY = 150, 600
PORTS = [port("enp1s0", "10.0.0.2/24")]


class Quick(Appliance):
    """smbclient opens what it is asked for: the one that looks each share up in smb.conf grows faster than shares."""

    profile: Profile | None = None

    def _smbclient(self, words: list[str], stdin: str) -> Result:
        if "-L" in words:
            return super()._smbclient(words, stdin)
        names = re.findall(r"tcon (\S+?);", " ".join(words))
        return Result(0, "".join(f"tcon to {name} successful, tid: 7\n" for name in names), "")

    def __call__(self, argv: Any, stdin: str | None = None) -> Result:
        # What a tool does is not counted.
        if self.profile is None:
            return super().__call__(argv, stdin)
        self.profile.disable()
        try:
            return super().__call__(argv, stdin)
        finally:
            self.profile.enable()


@pytest.fixture
def quick(appliance: Appliance) -> Quick:
    appliance.__class__ = Quick
    assert isinstance(appliance, Quick)
    return appliance


@contextmanager
def steps(quick: Quick) -> Iterator[list[int]]:
    """Calls of functions and resumptions of generators, in Python and in C: the same on every machine."""
    counts: list[int] = []
    quick.profile = Profile()
    quick.profile.enable()
    try:
        yield counts
    finally:
        quick.profile.disable()
        counts.append(sum(entry.callcount for entry in quick.profile.getstats()))
        quick.profile = None


def cost(quick: Quick, number: int, work: Callable[[], object]) -> int:
    """Steps of some work on a server with so many shares."""
    there = len(store.load().shares)
    create_shares([f"s{one:04}" for one in range(there, number)], {"size": "1T"}, quick.server)
    # Once before: what is compiled or cached at the first time is not counted.
    work()
    with steps(quick) as found:
        work()
    return found[0]


def change(quick: Quick) -> Callable[[], object]:
    words = iter(f"comment {number}" for number in range(10))
    return lambda: set_share("s0007", {"comment": next(words)}, quick.server)


WORK: dict[str, Callable[[Quick], Callable[[], object]]] = {
    "change one": change,
    "render all": lambda quick: lambda: quick.server().apply(store.load()),
    "list all": lambda quick: lambda: rows(listed(pool(), PORTS, quick)),
    "check all": lambda quick: lambda: shares.check(host()),
}


@pytest.mark.parametrize("name", WORK)
def test_work_grows_no_faster_than_shares(quick: Quick, name: str) -> None:
    work = WORK[name](quick)
    few = cost(quick, FEW, work)
    assert few > FEW / 10
    assert cost(quick, MANY, work) < 1.1 * MANY / FEW * few


def test_change_of_one_share_renders_each_file_once(quick: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    create_shares([f"s{number:04}" for number in range(FEW)], {}, quick.server)
    made: Counter[str] = Counter()
    real = render.render

    def counted(path: str, **values: object) -> str:
        made[path] += 1
        return real(path, **values)

    monkeypatch.setattr(render, "render", counted)
    monkeypatch.setattr("millrace.serve.share.smb.render", counted)
    set_share("s0007", {"comment": "again"}, quick.server)
    assert made == dict.fromkeys(
        (
            "etc/exports.d/millrace.exports.j2",
            "etc/nfs.conf.d/millrace.conf.j2",
            "etc/samba/smb.conf.j2",
            "etc/tlshd/config.j2",
        ),
        1,
    )


def test_shares_are_not_looked_up_among_all_one_by_one(quick: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of those is a walk over all shares, whose steps are in one call."""
    create_shares([f"s{number:04}" for number in range(FEW)], {}, quick.server)
    looked: list[str] = []
    real = Config.share

    def counted(config: Config, name: str) -> DesiredShare | None:
        looked.append(name)
        return real(config, name)

    monkeypatch.setattr(Config, "share", counted)
    set_share("s0007", {"comment": "again"}, quick.server)
    assert 0 < len(looked) < 5


def test_number_of_tools_does_not_grow(quick: Quick) -> None:
    def calls(number: int) -> int:
        there = len(store.load().shares)
        create_shares([f"s{one:04}" for one in range(there, number)], {}, quick.server)
        quick.calls.clear()
        set_share("s0007", {"comment": f"one of {number}"}, quick.server)
        return len(quick.calls)

    assert calls(20) == calls(FEW) < 25
