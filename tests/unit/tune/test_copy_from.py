# SPDX-License-Identifier: Apache-2.0
"""nfsd copies from the servers of the policy alone: the firewall lets NFS out to no other."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.system import paths
from millrace.system.run import Result
from millrace.tune.copy_from import copy_settings
from millrace.tune.model import TuneReport
from millrace.tune.run import run
from tests.fakes.samples import NFSD

NAMED = NFSD.model_copy(update={"copy_from": ["10.0.0.7", "fd00:1::7"]})
LIST = ["nft", "list", "set", "inet", "millrace"]


class Firewall:
    """nft with the two sets of nftables.conf, which loads only what flushes and fills them."""

    def __init__(self) -> None:
        self.sets: dict[str, list[str]] = {"copy_sources4": [], "copy_sources6": []}
        self.broken = False

    def __call__(self, argv: Sequence[str], stdin: str = "") -> Result:
        """Answer `nft list set` and `nft -f`."""
        if self.broken:
            return Result(1, "", "Error: No such file or directory")
        if list(argv[:5]) == LIST:
            addresses = self.sets[argv[5]]
            elements = f"\t\telements = {{ {', '.join(addresses)} }}\n" if addresses else ""
            return Result(0, f"table inet millrace {{\n\tset {argv[5]} {{\n\t\ttype x\n{elements}\t}}\n}}\n", "")
        assert list(argv[:2]) == ["nft", "-f"], argv
        for line in Path(argv[2]).read_text().splitlines():
            if flushed := re.fullmatch(r"flush set inet millrace (\w+)", line):
                self.sets[flushed[1]].clear()
            elif added := re.fullmatch(r"add element inet millrace (\w+) \{ (.+) \}", line):
                self.sets[added[1]] += added[2].split(", ")
            else:
                assert line.startswith("#"), line
        return Result(0, "", "")


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The switch of an nfsd with inter-server copy, off as the kernel starts."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "run/millrace/nftables").mkdir(parents=True)
    path = tmp_path / "sys/module/nfsd/parameters/inter_copy_offload_enable"
    path.parent.mkdir(parents=True)
    path.write_text("N\n")
    return path


def tuned(nft: Firewall, named: bool, diff_only: bool = False) -> TuneReport:
    return run([lambda: (copy_settings(NAMED if named else NFSD, nft), [])], diff_only=diff_only)


def test_without_named_servers_nothing_is_switched_on(switch: Path) -> None:
    nft = Firewall()
    assert tuned(nft, named=False).drift == []
    assert switch.read_text() == "N\n"


def test_named_servers_are_let_out_before_the_kernel_copies_from_them(switch: Path) -> None:
    nft = Firewall()
    shown = tuned(nft, named=True, diff_only=True)
    assert [(setting.before, setting.wanted, setting.changed) for setting in shown.drift] == [
        ("none", "10.0.0.7 fd00:1::7", False),
        ("N", "Y", False),
    ]
    assert nft.sets["copy_sources4"] == [] and switch.read_text() == "N\n"
    assert [setting.changed for setting in tuned(nft, named=True).drift] == [True, True]
    assert nft.sets == {"copy_sources4": ["10.0.0.7"], "copy_sources6": ["fd00:1::7"]}
    assert switch.read_text().strip() == "Y"
    assert tuned(nft, named=True).drift == []


def test_servers_that_the_policy_no_longer_names_are_shut_out(switch: Path) -> None:
    nft = Firewall()
    tuned(nft, named=True)
    tuned(nft, named=False)
    assert nft.sets == {"copy_sources4": [], "copy_sources6": []}
    assert switch.read_text().strip() == "N"
    assert "add element" not in paths.copy_sources_file().read_text()


def test_debians_modules_have_no_switch_and_the_firewall_still_follows_the_policy(switch: Path) -> None:
    switch.unlink()
    nft = Firewall()
    assert [one.wanted for one in tuned(nft, named=True).drift] == ["10.0.0.7 fd00:1::7"]


def test_firewall_that_cannot_be_read_is_a_warning(switch: Path) -> None:
    nft = Firewall()
    nft.broken = True
    assert any("nfs.copy_from" in warning for warning in tuned(nft, named=True).warnings)


def test_nfs_leaves_the_server_to_named_servers_alone() -> None:
    rules = (REPO / "mkosi.extra/etc/nftables.conf").read_text()
    chain = re.search(r"chain output \{\n(.*?)\n\t\}", rules, re.DOTALL)
    assert chain is not None
    lines = [line.strip() for line in chain[1].splitlines()]
    assert lines[lines.index("oif lo accept") :] == [
        "oif lo accept",
        "ct state established,related accept",
        "tcp dport 2049 ip daddr @copy_sources4 accept",
        "tcp dport 2049 ip6 daddr @copy_sources6 accept",
        # mounts of replicas are the kernel's and have root's socket
        "tcp dport 2049 ip daddr @replica_sources4 meta skuid 0 accept",
        "tcp dport 2049 ip6 daddr @replica_sources6 meta skuid 0 accept",
        "tcp dport 2049 reject with tcp reset",
    ]
    assert all(f"set {name} {{" in rules for name in Firewall().sets)
