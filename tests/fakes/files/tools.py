# SPDX-License-Identifier: Apache-2.0
"""What the tools of a server that is well print, and what the kernel says of its clients."""

import json
import re
from collections.abc import Sequence

from host.layout import REPO
from millrace.system.jobs.kinds import ALL
from millrace.system.run import Result
from tests.fakes import firewall
from tests.fakes.commands import Commands, takes

PROFILE = REPO / "tests/unit/observe/live/samples/smbstatus-profile.txt"
SHARES = PROFILE.with_name("smbstatus-shares.json")
USED = {1001: 21_300_000_000, 1002: 6_600_000_000_000, 1003: 1_200_000_000_000}
NFS_CLIENTS = ("10.77.0.2", "10.77.0.3", "10.77.1.2")
NFS_INFO = """clientid: 0xf6f0c2616a3d1c9e
address: "{host}:7{number}0"
status: confirmed
name: "Linux NFSv4.2 gpu-0{number}"
minor version: 2
callback state: UP
session slots: 64
session target slots: 64
"""
NFS_STATES = '- 0x01: { type: open, access: rw, deny: --, superblock: "09:7f:131", filename: "a", owner: "x" }\n'
# 10.77.0.2 and .3 have eight and four connections to port 2049, 10.77.0.4 four to port 445; 10.77.1.2 uses RDMA.
CONNECTIONS = [
    (f"10.77.0.1:{port}", f"10.77.0.{host}:{700 + number}")
    for host, port, count in ((2, 2049, 8), (3, 2049, 4), (4, 445, 4))
    for number in range(count)
]
SS = "".join(f"0 0 10.77.0.1:2049 10.77.0.{host}:{700 + n}\n" for host, count in ((2, 8), (3, 4)) for n in range(count))
SMB = {
    "sessions": {
        "1": {
            "server_id": {"pid": "901"},
            "username": "anna",
            "remote_machine": "10.77.0.4",
            "session_dialect": "SMB3_11",
            "encryption": {"cipher": "AES-128-GCM"},
            "channels": {str(n): {"remote_address": f"ipv4:10.77.0.4:{n}"} for n in range(1000, 1004)},
        }
    },
    "open_files": {"/srv/pool/models/a": {"opens": {"901/1": {"server_id": {"pid": "901"}}}}},
}
SMART = {"critical_warning": 0, "temperature": 313, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3}
SMART |= {"media_errors": 0, "power_on_hours": 9120}
ADDRESSES = [
    {
        "ifname": f"ens{node + 1}np0",
        "addr_info": [{"local": f"10.77.{node}.1", "prefixlen": 24, "scope": "global"}],
    }
    for node in range(2)
]


# What each tool prints; None where it fails on this server.
PRINTED = {
    "systemctl is-system-running": "running\n",
    "systemctl list-units --state=failed,auto-restart --output=json": "[]\n",
    "systemctl show --property=ActiveState --value *": "active\n",
    "systemctl show --property=ActiveState,Job millrace-*.service": "ActiveState=inactive\nJob=\n",
    "systemctl start millrace-heartbeat.service": "\n",
    "systemctl start millrace-locate@*.service": None,
    "udevadm settle --timeout=*": "",
    "timedatectl show --property=NTP --property=NTPSynchronized": "NTP=yes\nNTPSynchronized=yes\n",
    "systemctl is-active --quiet *": None,
    "bootctl --print-boot-path": "/boot\n",
    "nvme smart-log * --output-format=json": json.dumps(SMART),
    firewall.RULES: firewall.TEXT,
    f"{firewall.SETS} *": firewall.TEXT,
    "ip -j addr": json.dumps(ADDRESSES),
    "ss -Htn state established sport = :2049": SS,
    "ss -HtniO state established ( sport = :2049 or sport = :445 )": "",
    "smbstatus --json": json.dumps(SMB),
    "xfs_quota -x -c report?-p?-n?-N?-b /srv/pool": "".join(
        f"#{number} {used // 1024} 0 0\n" for number, used in USED.items()
    ),
    "mdadm --detail --export *": None,
    "mdadm --detail /dev/md126": "/dev/md126:\n        Raid Level : raid1\n",
    "mdadm --detail /dev/md127": "/dev/md127:\n        Raid Level : raid6\n",
    "mdadm --examine /dev/nvme2n1p2": "/dev/nvme2n1p2:\n     Array UUID : 11111111:22222222:33333333:44444444\n",
    "mdadm --examine /dev/nvme3n1p2": None,
    "xfs_info /srv/pool": "meta-data=/dev/md127 isize=512 agcount=32\n",
    "ethtool -i *": None,
    "ethtool --json -l *": None,
    "ethtool --json -c *": None,
    "ethtool --json -g *": None,
    "nfsdctl threads": "pool-threads: 8 8\nmin-threads: 8\n",
    "pdbedit -s /dev/null -L -w": None,
    "systemd-detect-virt --vm": None,
    "zstd --quiet -19 -o * *": None,
}


def _unit(name: str) -> str:
    works = any(kind.unit == name and kind.may_run() for kind in ALL)
    return f"Id={name}\nActiveState={'activating' if works else 'inactive'}\nJob="


class Tools(Commands):
    """Tools that the user with this number runs. Each profile of smbd is a second later than the one before.

    A job of which a file speaks runs.
    """

    TAKEN = (
        *PRINTED,
        "smbstatus --profile [--json]",
        "systemctl show --property=ActiveState,Job millrace-*.service",
        "systemctl show --property=Id,ActiveState,Job millrace-*.service...",
    )

    def __init__(self, user: int) -> None:
        super().__init__()
        self.user = user
        self.second = 0

    def works(self, words: Sequence[str], stdin: str) -> Result:
        if words[0] in ("smbstatus", "xfs_quota") and self.user != 0:
            return Result(1, "", "smbstatus only works as root!\n")
        if words[:2] == ["smbstatus", "--profile"]:
            return Result(0, SHARES.read_text() if "--json" in words else self._profile(), "")
        if words[:2] == ["systemctl", "show"] and "Job" in words[2]:
            return Result(0, "\n\n".join(map(_unit, words[3:])) + "\n", "")
        printed = next(text for pattern, text in PRINTED.items() if takes(pattern, words))
        if words[:2] == ["mdadm", "--examine"] and printed is None:
            return Result(1, "", f"mdadm: cannot open {words[2]}\n")
        return Result(1, "", "no answer\n") if printed is None else Result(0, printed, "")

    def _profile(self) -> str:
        """What was captured, grown by 480 MB/s of reading and 60 MB/s of writing."""
        self.second += 1
        text = PROFILE.read_text()
        for name, key, rate in (("smb2_read", "outbytes", 480_000_000), ("smb2_write", "inbytes", 60_000_000)):
            requests = rate // (1 << 20)
            for counter, grown in ((key, rate), ("count", requests), ("time", 900 * requests)):
                text = re.sub(
                    rf"^({name}_{counter}: +)(\d+)$",
                    lambda line, grown=grown: f"{line[1]}{int(line[2]) + grown * self.second}",
                    text,
                    flags=re.MULTILINE,
                )
        return text
