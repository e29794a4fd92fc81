# SPDX-License-Identifier: Apache-2.0
"""The manual's tables of sizing, made by the planner and its model; `tools/docs --write` writes them into the page."""

from collections.abc import Callable
from functools import cache
from math import ceil

from host.layout import REPO
from millrace.inventory.model import PcieLink
from millrace.plan.constants import GIGA
from millrace.plan.memory import NFSD_SHARE, STRIPE_SHARE, stripe_cache_memory, thread_memory
from millrace.plan.model import Direction, LayerName, Plan, Prediction, Role, Transport
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from millrace.system.text import binary
from tests.unit.plan.servers import GEN5, GIB, drive, server

PAGE = REPO / "docs/sizing.md"
TARGETS = (5, 10, 25, 50)
PARTS = (
    "| clients read or write | drives, PCIe 4.0 | drives, PCIe 5.0 | cores: NFS | cores: SMB | ports of 100 Gbit/s |"
)
MEMORY = "| data drives | layout | buffers of nfsd | stripe caches of md | least memory |"
GEN4 = PcieLink(speed=16.0, width=4, max_speed=16.0, max_width=4)
# Layouts of one to two legs; fewer drives are no array with parity.
DRIVES = range(3, 25)
CLOCK_MHZ = 3000
CORES = 32
WAYS: tuple[Direction, ...] = ("read", "write")


@cache
def planned(count: int, link: PcieLink) -> Plan:
    """Return the plan of a server with so many data drives, 32 cores of 3 GHz and two ports of 100 Gbit/s."""
    inventory = server([drive(number, link=link) for number in range(count)], cores=CORES, cpu_mhz=CLOCK_MHZ)
    slot = PcieLink(speed=16.0, width=16, max_speed=16.0, max_width=16)
    ports = [
        inventory.nics[0].model_copy(update={"name": f"ens{port}", "pci_address": f"0000:{0x90 + port:x}:00.0"})
        for port in range(2)
    ]
    ports = [port.model_copy(update={"speed": 100_000, "link": slot}) for port in ports]
    plan = propose(inventory.model_copy(update={"nics": ports}), Policy())
    assert isinstance(plan, Plan)
    return plan


def limit(prediction: Prediction | None, layer: LayerName, direction: Direction, transport: Transport) -> int:
    """Return the bytes/s of one layer of a healthy server."""
    assert prediction is not None
    for outcome in prediction.outcomes:
        if (outcome.direction, outcome.transport, outcome.state) == (direction, transport, "healthy"):
            value = next(one.limit for one in outcome.layers if one.name == layer)
            assert value is not None
            return value
    raise AssertionError(f"{layer} {direction} {transport}")


def smallest(target: int, link: PcieLink, direction: Direction) -> str:
    """Return the least number of data drives whose layer carries so many GB/s, in words where none does."""
    fit = (n for n in DRIVES if limit(planned(n, link).prediction, "drives", direction, "tcp") >= target * GIGA)
    count = next(fit, None)
    return str(count) if count else f"more than {DRIVES[-1]}"


def cores(target: int, direction: Direction, transport: Transport) -> int:
    """Return the cores of 3 GHz that carry so many GB/s, by the planner's model."""
    return ceil(target * GIGA * CORES / limit(planned(10, GEN5).prediction, "cpu", direction, transport))


def table_of_parts() -> str:
    """Return one row for each rate and direction, in Markdown."""
    lines = [PARTS, "|---" * (PARTS.count("|") - 1) + "|"]
    for target in TARGETS:
        for way in WAYS:
            ports = ceil(2 * target * GIGA / limit(planned(10, GEN5).prediction, "nic", way, "rdma"))
            cells = (
                f"{way} {target} GB/s",
                smallest(target, GEN4, way),
                smallest(target, GEN5, way),
                str(cores(target, way, "tcp")),
                str(cores(target, way, "smb")),
                str(ports),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def table_of_memory() -> str:
    """Return one row for each number of data drives, in Markdown."""
    lines = [MEMORY, "|---" * (MEMORY.count("|") - 1) + "|"]
    for count in (6, 10, 18, 24):
        plan = planned(count, GEN5)
        legs = [array for array in plan.arrays if array.role is Role.DATA and not array.over_arrays]
        caches = sum(stripe_cache_memory(plan.md.stripe_cache_size, len(leg.members)) for leg in legs)
        threads = plan.nfsd.threads_max * thread_memory(plan.nfsd.max_block_size)
        least = ceil(max(threads * 100 / NFSD_SHARE, caches * 100 / STRIPE_SHARE) / GIB) * GIB
        layout = plan.title.partition(" drives for data")[0]
        lines.append(f"| {count} | {layout} | {binary(threads)} | {binary(caches)} | {binary(least)} |")
    return "\n".join(lines) + "\n"


def rows(page: str, heading: str) -> list[str]:
    """Return the lines of the table with this heading in a page."""
    _, _, rest = page.partition(heading)
    return [heading, *(line for line in rest.split("\n\n")[0].splitlines() if line)]


TABLES: dict[str, Callable[[], str]] = {PARTS: table_of_parts, MEMORY: table_of_memory}


def main() -> None:
    """Write the tables into the page, in the place of the present ones."""
    text = PAGE.read_text()
    for heading, made in TABLES.items():
        text = text.replace("\n".join(rows(text, heading)), made().rstrip())
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
