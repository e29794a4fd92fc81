# SPDX-License-Identifier: Apache-2.0
"""The control: two export options that cannot differ (write gathering is for NFSv2), in every boot the same."""

from host.perf.guest import nfsd, pool
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio

# Three seconds: one run in three stands still for 12 ms once, which was 1.2 % of 2000 writes. It is not all that
# differs: two boots of 6000 were 0.1 to 0.8 % apart.
COUNT = 6000
WARM = 1000
TEST = "4 KiB, O_SYNC, NFSv4.2"


def bench(lab: Lab) -> None:
    """Measure the same writes with and without write gathering."""
    (setup,) = lab.job.setups
    with pool.pool(setup):
        for variant in ("no_wdelay", "wdelay"):
            export = setup.export.replace("no_wdelay", variant)
            with nfsd.server(setup, export), nfsd.client("4.2"):
                lab.measure(TEST, variant, durable(COUNT), warm=durable(COUNT, WARM))


def durable(count: int, first: int | None = None) -> Load:
    """4 KiB writes into a file of so many, or its `first` ones, each on the server's drives before the next one."""
    options: dict[str, str | int] = {"ioengine": "psync", "rw": "write", "bs": "4k", "sync": 1, "overwrite": 1}
    return lambda _: fio(filename=f"{nfsd.MNT}/load", **options, size=count * 4096, io_size=(first or count) * 4096)
