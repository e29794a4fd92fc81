# SPDX-License-Identifier: Apache-2.0
"""An appliance next to a domain AD.EXAMPLE.COM (short: EXAMPLE) that keeps its accounts as a real one does."""

import json
import socket
from pathlib import Path

from millrace.serve.domain.files import KEYTAB, NSSWITCH
from millrace.serve.share.smb_parameters import CHECKER
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.commands import GOOD

PASSWORD = "join-me-now-9"
HOSTS = "hosts:          files dns\n"
PLAIN = f"passwd:         files systemd\ngroup:          files systemd\nshadow:         files systemd\n\n{HOSTS}"


class Member(Appliance):
    """`offset` is the domain's clock against ours in seconds; `known` is what the domain has under a name; `refused` is
    why nobody can connect to it."""

    ADS = (
        "kinit -c * Administrator@AD.EXAMPLE.COM",
        "kinit -c * -k -t * MILLRACE$@AD.EXAMPLE.COM",
        "net -s * ads lookup --json",
        "net -s * ads info --json",
        "net -s * ads setspn add nfs/* -P",
        "net -s * ads join --use-krb5-ccache=* --use-kerberos=required dnshostname=* osName=Millrace",
        "net -s * ads leave --use-krb5-ccache=* --use-kerberos=required",
    )
    TAKEN = (
        *Appliance.TAKEN,
        *ADS,
        *(f"env KRB5_CONFIG=* {one}" for one in ADS),
        "net ads leave --use-krb5-ccache=* --use-kerberos=required",
        "net ads dns unregister * -P",
        "net cache flush",
        "kvno -c * -k * nfs/*",
        "wbinfo --check-secret",
        "wbinfo --ping",
        "wbinfo --ping-dc",
        "wbinfo --name-to-sid *",
        "resolvectl query --legend=no --type=SRV _ldap._tcp.dc._msdcs.ad.example.com",
        "systemctl start auth-rpcgss-module.service gssproxy.service",
        "systemctl is-system-running",
        "systemctl try-restart *.service",
        "systemctl reload-or-restart systemd-resolved.service",
    )

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.offset = 0
        self.ads_said = ""
        self.refused: OSError | None = None
        self.machines: set[str] = set()
        self.names: set[str] = set()
        self.known = {"EXAMPLE\\anna": "SID_USER (1)", "EXAMPLE\\model makers": "SID_DOM_GROUP (2)"}
        # which the first verification makes, and which stays
        self.accounts["passwd"][CHECKER] = 999
        (root / NSSWITCH).write_text(PLAIN)
        (root / "proc/net/rpc").mkdir(parents=True)
        (root / "proc/net/rpc/use-gss-proxy").write_text("1\n")

    def text(self, name: str) -> str | None:
        path = self.root / name
        return path.read_text() if path.exists() else None

    def connected(self, address: tuple[str, int], seconds: float) -> socket.socket:
        """As socket.create_connection; OSError where the domain takes none."""
        assert (address, seconds) == (("dc1.ad.example.com", 389), 20)
        if self.refused:
            raise self.refused
        return socket.socket()

    def _env(self, words: list[str], stdin: str) -> Result:
        assert words[0].startswith("KRB5_CONFIG=") and Path(words[0].partition("=")[2]).is_file()
        return self.answer(words[1:], stdin)

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        return Result(0, "running\n", "") if words == ["is-system-running"] else super()._systemctl(words, stdin)

    def _kinit(self, words: list[str], stdin: str) -> Result:
        if "-k" in words:
            there = (self.root / KEYTAB).exists() and bool(self.machines)
            return GOOD if there else Result(1, "", "kinit: Keytab contains no suitable keys")
        good = words[-1] == "Administrator@AD.EXAMPLE.COM" and stdin == f"{PASSWORD}\n"
        return GOOD if good else Result(1, "", "kinit: Password incorrect while getting initial credentials")

    def _net(self, words: list[str], stdin: str) -> Result:
        if words[0] == "-s":
            assert "security = ads" in Path(words[1]).read_text()
            assert words[3] in ("lookup", "info") or "idmap config EXAMPLE : range" in Path(words[1]).read_text()
            words = words[2:]
        if words[0] != "ads":
            return super()._net(words, stdin)
        return getattr(self, f"_ads_{words[1]}")(words[2:])  # type: ignore[no-any-return]

    def _ads_lookup(self, words: list[str]) -> Result:
        found = {"Domain Controller": "dc1.ad.example.com", "Pre-Win2k Domain": "EXAMPLE"}
        return Result(0, json.dumps(found), "")

    def _ads_info(self, words: list[str]) -> Result:
        return Result(0, json.dumps({"Server time offset": self.offset}), "")

    def _ads_join(self, words: list[str]) -> Result:
        self.machines.add("MILLRACE")
        (self.root / KEYTAB).write_text("keys")
        said = "Using short domain name -- EXAMPLE\nJoined 'MILLRACE' to dns domain 'ad.example.com'\n"
        return Result(0, said, self.ads_said)

    def _ads_leave(self, words: list[str]) -> Result:
        self.machines.discard("MILLRACE")
        return GOOD

    def _ads_setspn(self, words: list[str]) -> Result:
        self.names.add(words[1])
        return GOOD

    def _ads_dns(self, words: list[str]) -> Result:
        return GOOD

    def _wbinfo(self, words: list[str], stdin: str) -> Result:
        if words[0] == "--name-to-sid":
            name = " ".join(words[1:])
            kind = self.known.get(name)
            return Result(0, f"S-1-5-21-1-2-3-1103 {kind}\n", "") if kind else Result(1, "", "WBC_ERR_NOT_MAPPED")
        return GOOD if self.machines else Result(1, "", "could not check secret")
