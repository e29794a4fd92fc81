# SPDX-License-Identifier: Apache-2.0
"""Data sets kept on the client's own NVMe drives after the first read: fsc with cachefilesd."""

from millrace.measure.client import sources
from millrace.measure.client.choices import ClientWorkload
from millrace.measure.client.model import ClientFile, Note, RecipeChoice
from millrace.measure.client.served import ServedShare
from millrace.system.errors import Refused
from millrace.system.render import render

CONFIGURATION = "/etc/cachefilesd.conf"
DIRECTORY = "/var/cache/fscache"

OPTIONS = [
    RecipeChoice(
        option="fsc",
        reason="keeps what was read on local drives; the share is read-only, so nothing in it gets old",
        source=sources.FSCACHE,
    )
]
# Debian and Ubuntu start it only where /etc/default says so.
PREPARE = [
    f"mkdir -p {DIRECTORY}",
    "if [ -f /etc/default/cachefilesd ]; then sed -i 's/^#*RUN=.*/RUN=yes/' /etc/default/cachefilesd; fi",
    "systemctl enable cachefilesd.service",
    "systemctl restart cachefilesd.service",
]
NOTES = [
    Note(
        text=f"Install cachefilesd, and mount a file system of the local NVMe drives (ext4 or XFS) on {DIRECTORY} "
        "first: on the boot drive the cache is slower than this server.",
        source=sources.FSCACHE,
    ),
    Note(
        text="Only reads through host memory are cached: a GPU that reads directly (GPUDirect, hipFile, O_DIRECT) "
        "passes by the cache in both ways.",
        source=sources.FSCACHE,
    ),
]


def refuse(served: ServedShare, workload: ClientWorkload) -> None:
    """Verify that nothing in the cache can get old. Refused: the share or the workload changes files."""
    if workload not in (ClientWorkload.TRAINING, ClientWorkload.DATALOADER):
        raise Refused(f"the local cache (fsc) is for data sets that are read: use --workload training, not {workload}")
    if not served.read_only:
        raise Refused(
            f"the local cache (fsc) is for read-only shares, and {served.name} can be written: use a share with "
            "--type dataset-ro"
        )


def files() -> list[ClientFile]:
    """Return the configuration of cachefilesd."""
    return [ClientFile(path=CONFIGURATION, mode="0644", text=render("client/cachefilesd.j2", directory=DIRECTORY))]
