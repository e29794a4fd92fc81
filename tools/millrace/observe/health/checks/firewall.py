# SPDX-License-Identifier: Apache-2.0
"""The firewall: are the rules in force those of its file, and does it let clients in?

A server whose rules are gone answers everybody on every port, and one that drops what clients send serves nobody; the
probes of the other checks come through loopback and see neither.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.names import several
from millrace.system.run import last_words

NAME = "firewall"
FILE = "etc/nftables.conf"
TABLE = "inet millrace"
SETS = ("tcp_services", "udp_services", "volume_ports")
"""The sets of ports that the file and what units add to it open."""

RULES = ["nft", "--stateless", "--terse", "list", "ruleset"]
"""Without the elements of sets: one of addresses has as many as there are clients."""
ELEMENTS = ["nft", "list", "set", *TABLE.split()]

AGAIN = f"systemctl restart nftables.service loads /{FILE}; nft list ruleset shows what is in force"

_TABLE = re.compile(r"table (\S+ \S+) \{")
_CHAIN = re.compile(r"chain (\S+) \{")
_SET = re.compile(r"set (\S+) \{")
_LONG = re.compile(r"elements = \{[^}]*\}")
_BRACES = re.compile(r"\{([^}]*)\}")
_ELEMENTS = re.compile(r"elements = \{([^}]*)\}?")
_ADDED = re.compile(rf"add element {TABLE} (\S+) \{{([^}}]*)\}}")
_REFUSES = re.compile(r"\b(drop|reject)\b")


@dataclass
class Ruleset:
    """`chains`: the lines of each chain, by table and name; `ports`: the elements of each set of our table."""

    chains: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    ports: dict[str, set[str]] = field(default_factory=dict)


def check(host: Host) -> list[HealthFinding]:
    """Compare what is in force with the file, wherever there is one. Failed: nft lists nothing."""
    path = paths.ROOT / FILE
    if not path.exists():
        return [host.absent(NAME, f"The firewall has no rules: /{FILE} is missing.", _restore(), kind="file")]
    wanted = parsed(path.read_text())
    for added in sorted((paths.run_dir() / "nftables").glob("*.nft")):
        _add(wanted, added.read_text())
    loaded = parsed(_listed(host, RULES))
    if (TABLE, "input") not in loaded.chains:
        sentence = "The firewall is not loaded: every port of this server is open."
        return [host.absent(NAME, sentence, AGAIN, kind="open")]
    for name in SETS:
        loaded.ports |= parsed(_listed(host, [*ELEMENTS, name])).ports
    findings = [*_closed(host, wanted, loaded), *_opened(wanted, loaded), *_rules(host, wanted.chains, loaded.chains)]
    ports = sorted({int(port) for name in SETS for port in loaded.ports.get(name, ()) if port.isdecimal()})
    fine = f"The firewall has the rules of /{FILE}; clients reach ports {several([str(port) for port in ports])}."
    return findings or [HealthFinding(check=NAME, level=Level.OK, sentence=fine)]


def parsed(text: str) -> Ruleset:
    """Return the chains and ports of rules, as nft prints them and as the file has them."""
    rules, table, chain, name = Ruleset(), "", "", ""
    # nft prints five ports on a line
    text = _LONG.sub(lambda elements: " ".join(elements[0].split()), text)
    for line in (line.strip() for line in text.splitlines()):
        if not line or line.startswith(("#", "include", "flush")):
            continue
        if begins := _TABLE.fullmatch(line):
            table = begins[1]
        elif begins := _CHAIN.fullmatch(line):
            chain = begins[1]
            rules.chains[table, chain] = []
        elif begins := _SET.fullmatch(line):
            name = begins[1]
        elif line == "}":
            chain, name = "", ""
        elif chain:
            rules.chains[table, chain].append(_rule(line))
        elif (elements := _ELEMENTS.match(line)) and table == TABLE and name in SETS:
            rules.ports[name] = _split(elements[1])
    return rules


def _rule(line: str) -> str:
    """A rule without what nft prints in another way than administrators write it: quotes, spaces, comments, sets."""
    text = _BRACES.sub(_elements, line.partition(" #")[0].replace('"', ""))
    return " ".join(text.split())


def _elements(braces: re.Match[str]) -> str:
    elements = sorted(_split(braces[1]))
    return f" {{ {', '.join(elements)} }} " if len(elements) > 1 else f" {''.join(elements)} "


def _listed(host: Host, argv: Sequence[str]) -> str:
    result = host.query(argv)
    if result.status != 0:
        raise Failed(f"nft does not list the rules of the firewall: {last_words(result)}")
    return result.out


def _add(wanted: Ruleset, text: str) -> None:
    for name, elements in _ADDED.findall(text):
        if name in SETS:
            wanted.ports[name] = wanted.ports.get(name, set()) | _split(elements)


def _split(elements: str) -> set[str]:
    return {one.strip() for one in elements.split(",") if one.strip()}


def _closed(host: Host, wanted: Ruleset, loaded: Ruleset) -> list[HealthFinding]:
    lost = _more(wanted.ports, loaded.ports)
    if not lost:
        return []
    sentence = f"The firewall lets no client in to {_ports(lost)}."
    return [host.absent(NAME, sentence, AGAIN, kind="closed")]


def _opened(wanted: Ruleset, loaded: Ruleset) -> list[HealthFinding]:
    more = _more(loaded.ports, wanted.ports)
    if not more:
        return []
    sentence = f"The firewall lets clients in to {_ports(more)}, which neither /{FILE} nor a unit opens."
    return [HealthFinding(check=NAME, kind="opened", level=Level.WARN, sentence=sentence, todo=AGAIN)]


def _rules(
    host: Host, wanted: Mapping[tuple[str, str], list[str]], loaded: Mapping[tuple[str, str], list[str]]
) -> list[HealthFinding]:
    """Chains that are not as the file has them; a failure where a rule that the file lacks drops or rejects."""
    chains = [key for key in {**wanted, **loaded} if wanted.get(key) != loaded.get(key)]
    if not chains:
        return []
    where = several([f"chain {chain} of table {table}" for table, chain in chains])
    added = [rule for key in chains for rule in loaded.get(key, ()) if rule not in wanted.get(key, ())]
    refusing = [rule for rule in added if _REFUSES.search(rule)]
    lost = [rule for key in chains for rule in wanted.get(key, ()) if rule not in loaded.get(key, ())]
    if refusing or any("accept" in rule for rule in lost):
        what = (
            f" it has `{refusing[0]}`" if refusing else f" it lacks `{next(rule for rule in lost if 'accept' in rule)}`"
        )
        sentence = f"The firewall may refuse clients: {where} differs from /{FILE};{what}."
        return [host.absent(NAME, sentence, AGAIN, kind="rules")]
    sentence = f"The firewall has other rules than /{FILE}: {where}."
    return [HealthFinding(check=NAME, kind="rules", level=Level.WARN, sentence=sentence, todo=AGAIN)]


def _more(some: Mapping[str, set[str]], others: Mapping[str, set[str]]) -> list[str]:
    """The ports in sets of one that those of the other lack."""
    return sorted({port for name in SETS for port in some.get(name, set()) - others.get(name, set())})


def _ports(ports: Iterable[str]) -> str:
    named = list(ports)
    return f"port{'s' * (len(named) > 1)} {several(named)}"


def _restore() -> str:
    return f"cp -a /usr/share/factory/{FILE} /{FILE}; systemctl restart nftables.service"
