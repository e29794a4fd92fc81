# SPDX-License-Identifier: Apache-2.0
"""Two thousand users, five hundred groups and five hundred shares cost as many processes as two of each."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from millrace.observe.health import collect
from millrace.observe.health.host import Host
from millrace.serve.account import accounts, edit
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN, Config, DesiredShare, Group, NfsServer, User
from millrace.serve.config.protocols import Smb
from millrace.serve.revision import replace
from millrace.serve.revision.portable import Portable
from millrace.serve.share.edit import set_share
from millrace.serve.share.share_list import listed, rows
from millrace.serve.share.verify import verify
from tests.fakes.appliance import Appliance
from tests.fakes.certificates import certify
from tests.fakes.commands import without_limit
from tests.fakes.samples import Tools, pool, port
from tests.unit.observe.health.servers import ANSWERING, WELL


class Size(NamedTuple):
    users: int
    groups: int
    shares: int


FEW, MANY = Size(2, 2, 2), Size(2000, 500, 500)
# smbclient opens 400 shares in a session
MORE = 1


def state(size: Size) -> Portable:
    """An exported state with so many users, groups and shares, and a password of each user."""
    groups = [Group(name=f"g{number:03}", gid=50000 + number) for number in range(size.groups)]
    users = [
        User(name=f"u{number:04}", uid=3000 + number, groups=[groups[number % size.groups].name])
        for number in range(size.users)
    ]
    shares = [
        DesiredShare(
            name=f"s{number:03}",
            type="mixed",
            project=2000 + number,
            size=1 << 40,
            smb=Smb(users=[ADMIN], groups=[groups[number % size.groups].name]),
        )
        for number in range(size.shares)
    ]
    config = Config(shares=shares, users=users, groups=groups, nfs=NfsServer(networks=["10.0.0.0/24"]))
    return Portable(
        when="2026-11-29T00:00:00+00:00",
        config=config,
        shadow={user.name: f"$y$j9T$salt${user.name}" for user in users},
        nt={user.name: f"{user.uid:032X}" for user in users},
    )


@pytest.fixture
def appliance(appliance: Appliance) -> Appliance:
    certify()
    return appliance


def processes(appliance: Appliance, work: Callable[[], object]) -> Counter[str]:
    """The tools that some work runs, by their names."""
    appliance.calls.clear()
    work()
    return Counter(without_limit(call)[0] for call in appliance.calls)


def imported(appliance: Appliance, size: Size) -> Counter[str]:
    portable = state(size)
    return processes(appliance, lambda: replace.import_state(portable, appliance, appliance.server))


def test_import_again_changes_no_account_and_runs_no_tool_for_it(appliance: Appliance) -> None:
    imported(appliance, FEW)
    before = {path: path.stat().st_mtime_ns for path in (appliance.root / "etc").iterdir()}
    again = imported(appliance, FEW)
    assert not {"getent", "chpasswd"} & again.keys() and not appliance.called("pdbedit -s /dev/null -i")
    for name in ("passwd", "shadow", "group", "gshadow"):
        path = appliance.root / "etc" / name
        assert path.stat().st_mtime_ns == before[path], name


def test_import_and_rollback_cost_the_same(appliance: Appliance) -> None:
    imported(appliance, Size(1, 1, 1))
    few = imported(appliance, FEW)
    back = processes(appliance, lambda: replace.rollback(1, appliance, appliance.server))
    many = imported(appliance, MANY)
    assert appliance.everlasting == appliance.smb_accounts == {user.name for user in store.load().users}
    assert appliance.accounts["passwd"]["u1999"] == 4999 and appliance.accounts.members("g499")[-1] == "u1999"
    assert appliance.accounts.row("shadow", "u1999")[1] == "$y$j9T$salt$u1999"
    gone = processes(appliance, lambda: replace.rollback(1, appliance, appliance.server))
    assert set(appliance.accounts["passwd"]) - {"admin", "root", "millrace-check"} == {"u0000"}
    assert appliance.smb_accounts == {"u0000"}
    for before, after in ((few, many), (back, gone)):
        assert after.total() <= before.total() + MORE, after - before
    assert few.total() < 45, few
    # and back again: users who were removed have no password, which is said
    report = replace.rollback(4, appliance, appliance.server)
    assert len(report.without_password) == 1999


class Asked(Tools):
    """What a server that is well answers to the health checks, counted with the tools of another one."""

    def __init__(self, appliance: Appliance) -> None:
        super().__init__(WELL)
        self.calls = appliance.calls


WORK: dict[str, Callable[[Appliance], object]] = {
    "boot": lambda appliance: accounts.render(store.load(), appliance),
    "user set": lambda appliance: edit.set_user("u0001", ["g000", "g001"], appliance),
    "user create": lambda appliance: edit.create_user("ann", ["g001"], "correct: horse 9 battery", appliance),
    "group remove": lambda appliance: edit.create_group("lab", appliance) and edit.remove_group("lab", appliance),
    "share list": lambda appliance: rows(listed(pool(), [port("enp1s0", "10.0.0.2/24")], appliance)),
    "share set": lambda appliance: set_share("s001", {"comment": "weights"}, appliance.server),
    "share verify": lambda appliance: verify((), appliance.server),
    "user remove": lambda appliance: edit.remove_user("ann", appliance),
    "health": lambda appliance: collect.collect(Host(Asked(appliance), ANSWERING, lambda: 60)),
    "share render": lambda appliance: appliance.server().apply(store.load()),
}


def test_other_work_costs_the_same(appliance: Appliance) -> None:
    counts: dict[str, list[Counter[str]]] = {name: [] for name in WORK}
    for size in (FEW, MANY):
        imported(appliance, size)
        for name, work in WORK.items():
            counts[name].append(processes(appliance, lambda work=work: work(appliance)))  # type: ignore[misc]
    for name, (few, many) in counts.items():
        assert many.total() <= few.total() + (MORE if name == "share verify" else 0), (name, many - few)
        assert few.total() < 30, (name, few)
    # at boot the lockout of SMB: three settings
    assert counts["boot"][1] == {"pdbedit": len(accounts.SMB_LOCKOUT)}


def test_boot_writes_no_file_where_all_users_are_there(appliance: Appliance) -> None:
    imported(appliance, FEW)
    written = {path: path.stat().st_mtime_ns for path in (appliance.root / "etc").iterdir()}
    accounts.render(store.load(), appliance)
    assert {path: path.stat().st_mtime_ns for path in (appliance.root / "etc").iterdir()} == written


def test_progress_is_shown_while_it_runs(appliance: Appliance) -> None:
    lines: list[str] = []
    replace.import_state(state(Size(5, 2, 3)), appliance, appliance.server, lines.append)
    assert lines == [
        "Comparing accounts (users: 5, groups: 2)",
        "Creating or changing shares (3)",
        "Counting files of s000 for its quota (1 of 3 shares)",
        "Counting files of s001 for its quota (2 of 3 shares)",
        "Counting files of s002 for its quota (3 of 3 shares)",
        "Verifying shares over NFS and SMB (4)",
        "Comparing passwords (users: 5)",
    ]


def test_database_of_an_unknown_form_is_left_to_the_tools_of_samba(appliance: Appliance) -> None:
    appliance.passdb_form[b"INFO/version\0"] = b"\5\0\0\0"
    tools = imported(appliance, Size(3, 1, 1))
    assert appliance.everlasting == {"u0000", "u0001", "u0002"}
    assert len(appliance.called("pdbedit -s /dev/null -r -u u")) == 3, tools
    replace.rollback(1, appliance, appliance.server)
    accounts.remove(["u0000", "u0001", "u0002"], [], appliance)
    assert appliance.smb_accounts == set() and len(appliance.called("smbpasswd -c /dev/null -x u")) == 3
