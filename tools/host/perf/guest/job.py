# SPDX-License-Identifier: Apache-2.0
"""What the host asks for and what the guest answers, as JSON."""

from dataclasses import dataclass
from typing import Any

from host.perf.guest.drives import Model

# Beside the program, in the directory that a guest's module is started from.
JOB = "job.json"
RESULTS = "/dev/ttyS1"
DATA = "/dev/md/millrace-data"
# Beside the job.
SMB_CONF = "smb.conf"
SMB_SHARE = "data"


@dataclass(frozen=True)
class Setup:
    """One way to build and serve a pool: commands of the appliance's program, or of an administrator by default.

    `arrays` are mdadm commands in order; `md` attributes of /sys/block/md*/md by array name; `read_ahead` in KiB,
    None leaves the kernel's; `mount` options, "" for the defaults; `nfsd` None is what rpc.nfsd does unasked.
    `device` is what is mounted; with `realtime` that has metadata alone, and new files are on the realtime device.
    `hint` is the extent size in bytes that new files of a share inherit, 0 without one.
    """

    name: str
    arrays: list[list[str]]
    md: dict[str, dict[str, str]]
    read_ahead: int | None
    mkfs: list[str]
    mount: str
    sysctl: dict[str, str]
    nfsd: dict[str, int] | None
    export: str
    hint: int = 0
    device: str = DATA
    realtime: bool = False


@dataclass(frozen=True)
class Job:
    """One benchmark. `boot` tells repetitions of the same job apart."""

    benchmark: str
    boot: int
    drives: dict[str, Model]
    setups: list[Setup]

    def setup(self, name: str) -> Setup:
        """Return the setup called `name`."""
        return next(setup for setup in self.setups if setup.name == name)


def job(table: dict[str, Any]) -> Job:
    """Return the job that a JSON object describes."""
    drives = {name: Model(**model) for name, model in table["drives"].items()}
    return Job(table["benchmark"], table["boot"], drives, [Setup(**setup) for setup in table["setups"]])
