# SPDX-License-Identifier: Apache-2.0
"""Connections of RDMA on the port of SMB, as the RDMA connection manager lists them."""

import json
from typing import Any

from millrace.system.run import Runner

PORT = 445


def is_listening(run: Runner) -> bool:
    """Whether something of this server answers over RDMA on the port of SMB."""
    return any(one.get("state") == "LISTEN" for one in _on_port(run))


def peers(run: Runner) -> set[str]:
    """Return the addresses that have a connection to it."""
    return {str(one.get("dst-addr", "")).rpartition(":")[0] for one in _on_port(run) if one.get("state") == "CONNECT"}


def _on_port(run: Runner) -> list[dict[str, Any]]:
    result = run(["rdma", "-j", "resource", "show", "cm_id"])
    try:
        found = json.loads(result.out) if result.status == 0 else []
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict) and str(one.get("src-addr", "")).endswith(f":{PORT}")]
