# SPDX-License-Identifier: Apache-2.0
"""Write the plans of some servers as a terminal shows them, with every decision: `python -m tests.unit.plan.golden`.

A change of a decision, of its reason or of its source is a difference in these files, and is read before it is
committed.
"""

from collections.abc import Mapping
from pathlib import Path

from host.layout import REPO
from millrace.inventory.model import Inventory
from millrace.plan.explain import lines as explained
from millrace.plan.model import Plan
from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_file import parse_policy
from millrace.plan.propose import plan_file, propose
from millrace.plan.text import lines
from millrace.system.printing import Terminal
from tests.unit.plan import servers_hw as hw
from tests.unit.plan.servers import LOG_SIZE, drive, drives_1u12, drives_2u24, server
from tests.unit.plan.shapes import equal

WIDE = Terminal(100)
FILES = Path(__file__).parent / "golden"

# its excluded drive is one of the server
EXAMPLE = (REPO / "docs/examples/policy.toml").read_text().replace("S6XYZ123", "SN007")

VOLUME = "/dev/disk/by-id/nvme-uuid.5a1f4c1e-0d0b-4c8e-9b0e-6f3f6d1c2b3a"

TWO_LEGS = "[layout]\nlegs = 2"

SERVERS: Mapping[str, tuple[Inventory, str]] = {
    "1u12": (hw.one_u_12(), ""),
    "2u24": (hw.two_u_24(), ""),
    "2u24-nics-on-one-socket": (hw.all_nics_on_node_1(), ""),
    "legs-across-sockets": (
        hw.machine(hw.on_nodes(drives_2u24(), 0, 0, 1), [hw.port()], hw.nodes(2)),
        "[layout]\nlegs = 2",
    ),
    "20-equal-with-spares": (server(equal(20, 2), nodes=2), ""),
    "every-key-of-a-policy": (hw.machine(equal(25, 2, 3840 * 10**9), [hw.port()], hw.nodes(2)), EXAMPLE),
    "policy-unusable": (server(equal(3)), '[log]\nmode = "pair"'),
    "one-drive-without-zeroes": (server([*hw.zeroed(equal(11)), *equal(1, first=11)]), ""),
    "discards-too-small": (server(hw.zeroed(equal(20, 2), most=128 << 10), nodes=2), ""),
    "mirror-of-drives-that-trim": (server(hw.zeroed(equal(2))), ""),
    "one-drive": (server(equal(1), cores=8), ""),
    "hot-and-worn": (hw.hot_and_worn(), ""),
    "failing": (hw.failing(), ""),
    "24-large-drives": (server(equal(24, 2, 245 * 10**12), nodes=2), ""),
    "desktop": (hw.desktop(), ""),
    "duplicate-serials": (hw.duplicate_serials(), ""),
    "external": (
        server(
            [
                drive(
                    1, 50 * 10**12, serial="VOL1", link=None, links=[VOLUME], minimum_io=128 << 10, optimal_io=1 << 20
                ),
                *equal(2, first=2),
                *drives_1u12()[-1:],
            ]
        ),
        f'[layout]\nbackend = "external"\n[external]\ndevices = ["{VOLUME}"]',
    ),
    "unequal": (server([*equal(4), *equal(3, size=LOG_SIZE, first=4), *drives_1u12()[-1:]]), ""),
}


def texts() -> dict[str, str]:
    """Return the text of every file by its name."""
    return {f"{name}.txt": _text(*one) for name, one in SERVERS.items()}


def _text(inventory: Inventory, policy: str) -> str:
    proposal = propose(inventory, parse_policy(policy, "policy.toml") if policy else Policy())
    shown = [*lines(plan_file(proposal), on=WIDE)]
    if isinstance(proposal, Plan):
        shown += [line for one in proposal.decisions for line in ("", *explained(one, on=WIDE))]
    return "".join(f"{line}\n" for line in shown)


def main() -> None:
    """Write the files, and remove those of servers that are no more."""
    FILES.mkdir(exist_ok=True)
    made = texts()
    for name, text in made.items():
        (FILES / name).write_text(text)
    for path in FILES.iterdir():
        if path.name not in made:
            path.unlink()


if __name__ == "__main__":
    main()
