# SPDX-License-Identifier: Apache-2.0
"""The hosts that are connected to a volume.

The kernel of the image reports no controllers of nvmet (its debugfs is not built), so each exported volume has a port
of its own, and the connections to that are counted.
"""

import json
from collections import Counter

from millrace.serve.volume.model import ConnectedHost, VolumeExport
from millrace.system import listeners
from millrace.system.errors import Failed
from millrace.system.run import Runner, must


def connected(export: VolumeExport, run: Runner) -> list[ConnectedHost]:
    """Return the addresses connected to an exported volume. Failed: the kernel does not report them."""
    found = _rdma(export.port, run) if export.transport == "rdma" else _tcp(export.port)
    return [ConnectedHost(address=address, connections=count) for address, count in sorted(found.items())]


def _tcp(port: int) -> Counter[str]:
    return Counter({str(address): count for address, count in listeners.connected(port).items()})


def _rdma(port: int, run: Runner) -> Counter[str]:
    # restrack of the kernel: each connection of rdma_cm, those of the kernel's own users included
    text = must(run, ["rdma", "-j", "resource", "show", "cm_id"])
    try:
        entries = [one for one in json.loads(text or "[]") if one.get("src-port") == port]
        return Counter(str(one["dst-addr"]) for one in entries if one.get("state") == "CONNECT")
    except (ValueError, KeyError, AttributeError) as error:
        raise Failed(f"rdma resource show cm_id printed something unexpected: {error}") from error
