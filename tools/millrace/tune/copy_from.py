# SPDX-License-Identifier: Apache-2.0
"""Inter-server copy: nfsd copies files from another server when a client of both asks it to.

The kernel's switch knows no servers: with it on, a client that may write here can let nfsd connect to any address. So
the firewall lets NFS out to the servers of the policy alone, whether the switch is on or off.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from millrace.plan.model import Nfsd
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import Runner, last_words
from millrace.tune.knob import Knob, Setting

SETS = {4: "copy_sources4", 6: "copy_sources6"}
NONE = "none"


@dataclass(frozen=True)
class CopySources(Setting):
    """The servers that the firewall lets NFS out to: addresses with spaces between them, `none` for no server."""

    wanted: str
    reason: str
    run: Runner
    default: str | None = NONE

    @property
    def label(self) -> str:
        """The sets of the firewall."""
        return "nft copy_sources"

    def read(self) -> str:
        """Return the servers that the firewall lets NFS out to now. Failed: it has no such set."""
        return " ".join(_sorted(found for name in SETS.values() for found in self._elements(name))) or NONE

    def write(self, value: str) -> None:
        """Let NFS out to these servers alone, also after the firewall is loaded again. Failed: nft refuses."""
        write_text(paths.copy_sources_file(), rules([] if value == NONE else value.split()))
        loaded = self.run(["nft", "-f", str(paths.copy_sources_file())])
        if loaded.status != 0:
            raise Failed(last_words(loaded))

    def _elements(self, name: str) -> list[str]:
        listed = self.run(["nft", "list", "set", "inet", "millrace", name])
        if listed.status != 0:
            raise Failed(f"the firewall does not list the servers of nfs.copy_from: {last_words(listed)}")
        elements = re.search(r"elements = \{([^}]*)\}", listed.out)
        return [one.strip() for one in elements[1].split(",")] if elements else []


def copy_settings(nfsd: Nfsd, run: Runner) -> list[Setting]:
    """Return the firewall's servers, and the kernel's switch, which only rebuilt modules of a loaded nfsd have."""
    switch = paths.ROOT / "sys/module/nfsd/parameters/inter_copy_offload_enable"
    settings: list[Setting] = []
    # after a start of the server it lets NFS out to none
    if nfsd.copy_from or paths.copy_sources_file().exists():
        reason = "NFS leaves this server only to the servers that the policy names (nfs.copy_from)"
        settings.append(CopySources(" ".join(_sorted(nfsd.copy_from)) or NONE, reason, run))
    if switch.exists():
        reason = "nfsd copies from other servers when a client asks it to, where the policy names them (nfs.copy_from)"
        settings.append(Knob(switch, "Y" if nfsd.copy_from else "N", reason, default="N"))
    return settings


def rules(servers: Iterable[str]) -> str:
    """Return what nft loads: the servers that NFS may leave this server to."""
    text = "# SPDX-License-Identifier: Apache-2.0\n# Written by millrace tune.\n"
    for version, name in SETS.items():
        text += f"flush set inet millrace {name}\n"
        named = [one for one in servers if ip_address(one).version == version]
        if named:
            text += f"add element inet millrace {name} {{ {', '.join(named)} }}\n"
    return text


def _sorted(servers: Iterable[str]) -> list[str]:
    return sorted(str(ip_address(one)) for one in servers)
