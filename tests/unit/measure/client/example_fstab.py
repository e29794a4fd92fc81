# SPDX-License-Identifier: Apache-2.0
"""The manual's example of a client's fstab, made by the recipes; `tools/docs --write` writes it."""

from host.layout import REPO
from millrace.measure.client.model import Protocol
from tests.unit.measure.client.servers import recipe

FILE = REPO / "docs/examples/client-fstab"
WORKLOAD = "training"
HEAD = f"""\
# SPDX-License-Identifier: Apache-2.0
# /etc/fstab of a client: the lines of one protocol for each share, the others are comments. Print your own with
#   millrace client recipe --workload {WORKLOAD} --protocol PROTOCOL --share NAME
# Server 10.0.0.2 and 10.0.1.2, share train. The recipe also has module options and the reason of each option.
"""


def text() -> str:
    """Return the file: the lines of every protocol that is served, those of one in force."""
    parts = [HEAD]
    for protocol in Protocol:
        if protocol is not Protocol.SMB_RDMA:
            lines = recipe(WORKLOAD, protocol.value).fstab
            off = "" if protocol is Protocol.NFS_TCP else "#"
            parts.append(f"# {protocol.value}\n" + "".join(f"{off}{line}\n" for line in lines))
    return "\n".join(parts)


def main() -> None:
    """Write the example."""
    FILE.write_text(text())


if __name__ == "__main__":
    main()
