# SPDX-License-Identifier: Apache-2.0
"""Words that the stories of a 1U12 have in common."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.vm.box import SERVER_ADDRESSES, Box
from tests.vm.servers import server_named
from vm.machine import Machine

SERVER = server_named("1u12")
PROTOCOLS = ("nfs-tcp", "nfs-rdma", "smb")
EXPORT = "/srv/pool/data"
MOUNTPOINT = "/mnt/data"
# The port of the endpoint of metrics.
METRICS = 19100
# Of the client, in memory.
PATTERN = "/run/pattern"
PATTERN_MIB = 256

# May look into the web console and change nothing.
VIEWER = "noel"
VIEWER_PASSWORD = "looks-5-but-touches-nothing"


def warn(box: Box, serial: str, value: int, read: bool = True) -> None:
    """Set the critical warning of a drive that was there at the start (NVM Express, SMART log, byte 0); 0 for none.

    The drive sends an event for a bit that was 0. With `read` its log is read, too, as it is for the end of a warning.
    """
    number = [drive.serial for drive in SERVER.drives].index(serial)
    path = f"/machine/peripheral/nvme{number}"
    box.machine.qmp("qom-set", path=path, property="smart_critical_warning", value=value)
    if read:
        # what its timer does every 5 minutes
        box.say("systemctl start millrace-smart.service", seconds=300)


@contextmanager
def mounted(client: Machine, protocol: str) -> Iterator[str]:
    """Mount the share, yield where, unmount: nothing is read from the client's cache.

    One protocol at a time: the kernel answers a second NFS mount of the same export with the first one's transport.
    """
    host = SERVER_ADDRESSES[0]
    smb = "vers=3.1.1,credentials=/run/credentials.smb,multichannel,max_channels=4"
    options = {
        "nfs-tcp": f"-t nfs4 -o vers=4.2,proto=tcp,nconnect=8 {host}:{EXPORT}",
        "nfs-rdma": f"-t nfs4 -o vers=4.2,proto=rdma,port=20049 {host}:{EXPORT}",
        "smb": f"-t cifs -o {smb} //{host}/data",
    }
    client.run(f"mkdir -p {MOUNTPOINT}; mount {options[protocol]} {MOUNTPOINT}", seconds=300)
    try:
        yield MOUNTPOINT
    finally:
        client.run(f"umount {MOUNTPOINT}", seconds=300)
