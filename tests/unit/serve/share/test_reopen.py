# SPDX-License-Identifier: Apache-2.0
"""Servers that have the directory of a share open look for it again; others are left alone."""

import pytest

from millrace.serve.config.model import DesiredShare
from millrace.serve.share.reopen import reopen
from tests.fakes.commands import Commands, Result


class Services(Commands):
    """Services that are up, but for those of which `down` has the names."""

    TAKEN = (
        "systemctl is-active --quiet *.service",
        "systemctl restart --job-mode=ignore-dependencies millrace-smb-direct.service",
        "exportfs -f",
        "smbcontrol smbd close-share data",
    )

    def __init__(self, down: tuple[str, ...] = ()) -> None:
        super().__init__()
        for unit in down:
            self.broken[f"systemctl is-active --quiet {unit}"] = Result(3, "", "")


def share(direct: bool = False, nfs: bool = True, smb: bool = True) -> DesiredShare:
    values = {"name": "data", "type": "mixed", "project": 1001, "writing": "together"}
    sides = {"nfs": {"enabled": nfs}, "smb": {"enabled": smb, "direct": direct, "users": ["admin"]}}
    return DesiredShare.model_validate(values | sides)


EXPORTS, CLOSED = "exportfs -f", "smbcontrol smbd close-share data"
RESTARTED = "systemctl restart --job-mode=ignore-dependencies millrace-smb-direct.service"


@pytest.mark.parametrize(
    ("served", "down", "commands"),
    [
        (share(), (), [EXPORTS, CLOSED]),
        (share(direct=True, nfs=False), (), [RESTARTED]),
        (share(nfs=False), (), [CLOSED]),
        (share(smb=False), (), [EXPORTS]),
        (share(), ("nfs-server.service", "smbd.service"), []),
    ],
)
def test_servers_that_are_up_and_serve_the_share_open_it_again(
    served: DesiredShare, down: tuple[str, ...], commands: list[str]
) -> None:
    services = Services(down)
    reopen(served, services)
    assert [" ".join(argv) for argv in services.calls if "is-active" not in argv] == commands
