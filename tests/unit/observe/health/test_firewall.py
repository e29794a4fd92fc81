# SPDX-License-Identifier: Apache-2.0
"""The firewall that is loaded is that of its file; one that is gone, closed or open too wide is a finding."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import firewall as check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes import firewall
from tests.fakes.samples import Tools
from tests.unit.observe.health.servers import WELL, sentences

ACCEPT = "\t\ttcp dport @tcp_services accept\n"
AGAIN = "[systemctl restart nftables.service loads /etc/nftables.conf; nft list ruleset shows what is in force]"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    firewall.load(tmp_path)
    (tmp_path / "run/millrace/nftables").mkdir(parents=True)
    return tmp_path


def found(rules: str = firewall.TEXT, ports: str = firewall.TEXT) -> str:
    """What is found where nft prints these rules, and these elements of sets."""
    answers = {firewall.RULES: Result(0, rules, ""), firewall.SETS: Result(0, ports, "")}
    return sentences(check.check(Host(Tools({**WELL, **answers}))))


def test_rules_of_the_file_are_all_right_whatever_quotes_nft_prints() -> None:
    fine = "OK: The firewall has the rules of /etc/nftables.conf; clients reach ports 445, 2049, 9090, 20049. []"
    assert found() == fine
    assert found(firewall.TEXT.replace("iif lo", 'iif "lo"')) == fine


def test_firewall_that_was_flushed_leaves_every_port_open() -> None:
    assert found("") == f"FAIL: The firewall is not loaded: every port of this server is open. {AGAIN}"


def test_rule_that_drops_before_the_others_closes_the_server() -> None:
    said = found(firewall.TEXT.replace("\t\tiif lo accept\n", "\t\ttcp dport 2049 drop\n\t\tiif lo accept\n"))
    assert said.startswith("FAIL: The firewall may refuse clients: chain input of table inet millrace differs")
    assert said.endswith(f"; it has `tcp dport 2049 drop`. {AGAIN}")


def test_table_of_another_program_that_drops_closes_the_server() -> None:
    other = "table ip guard {\n\tchain in {\n\t\ttype filter hook prerouting priority raw; policy drop;\n\t}\n}\n"
    assert "FAIL: The firewall may refuse clients: chain in of table ip guard" in found(firewall.TEXT + other)


def test_rule_that_accepts_and_is_gone_closes_the_server() -> None:
    said = found(firewall.TEXT.replace(ACCEPT, ""))
    assert "FAIL:" in said and "it lacks `tcp dport @tcp_services accept`" in said


def test_rule_of_an_administrator_need_not_be_written_as_nft_prints_it(root: Path) -> None:
    written = "\t\ttcp dport {9100} ip saddr {10.0.0.9,10.0.0.8}  accept # node_exporter of the site\n"
    printed = "\t\ttcp dport 9100 ip saddr { 10.0.0.8, 10.0.0.9 } accept\n"
    (root / check.FILE).write_text(firewall.TEXT.replace(ACCEPT, ACCEPT + written))
    assert found(firewall.TEXT.replace(ACCEPT, ACCEPT + printed)).startswith("OK: ")
    assert "it lacks `tcp dport 9100 ip saddr { 10.0.0.8, 10.0.0.9 } accept`" in found()


def test_further_rule_that_accepts_is_a_warning() -> None:
    said = found(firewall.TEXT.replace(ACCEPT, f"{ACCEPT}\t\ttcp dport 23 accept\n"))
    assert (
        said
        == f"WARN: The firewall has other rules than /etc/nftables.conf: chain input of table inet millrace. {AGAIN}"
    )


def test_port_that_was_taken_out_and_port_that_nobody_opened(root: Path) -> None:
    assert "FAIL: The firewall lets no client in to port 2049." in found(
        ports=firewall.TEXT.replace(" 2049, 9090", " 9090")
    )
    more = firewall.TEXT.replace("9090, 20049 }", "9090, 20049, 22 }")
    assert "WARN: The firewall lets clients in to port 22, which neither" in found(ports=more)
    # ssh.service opens it, and leaves this file for as long as it runs
    (root / "run/millrace/nftables/ssh.nft").write_text("add element inet millrace tcp_services { 22 }\n")
    assert found(ports=more).startswith("OK: ") and "22, 445" in found(ports=more)
    assert "FAIL: The firewall lets no client in to port 22." in found()


def test_ports_that_nft_prints_on_several_lines_are_all_read(root: Path) -> None:
    for number, port in enumerate((22, 19100)):
        added = f"add element inet millrace tcp_services {{ {port} }}\n"
        (root / f"run/millrace/nftables/{number}.nft").write_text(added)
    # nftables breaks the line after the fifth element (src/expression.c, calculate_delim)
    printed = "22, 445, 2049, 9090, 19100,\n\t\t\t     20049 }"
    said = found(ports=firewall.TEXT.replace("445, 2049, 9090, 20049 }", printed))
    assert said.startswith("OK: ") and "(6 in all)" in said


def test_file_that_is_missing_is_a_failure_with_its_copy(root: Path) -> None:
    (root / check.FILE).unlink()
    assert "FAIL: The firewall has no rules: /etc/nftables.conf is missing. [cp -a /usr/share/factory/" in found()


def test_nft_that_lists_nothing_is_unknown() -> None:
    with pytest.raises(Failed, match="nft does not list the rules of the firewall: Operation not permitted"):
        check.check(Host(Tools({**WELL, firewall.RULES: Result(1, "", "Operation not permitted\n")})))


def test_sets_that_are_compared_are_those_that_the_rules_open() -> None:
    chains = check.parsed(firewall.TEXT).chains["inet millrace", "input"]
    opened = {word[1:] for line in chains if "accept" in line for word in line.split() if word.startswith("@")}
    # who may reach a volume is in two sets of pairs, and that check is the one of volumes
    assert opened - {"volume_hosts4", "volume_hosts6"} == {"tcp_services", "udp_services"}
    assert Level.OK.name in found()
