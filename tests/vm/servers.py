# SPDX-License-Identifier: Apache-2.0
"""The virtual servers of tests/servers by name."""

import dataclasses

from host import layout
from vm.server import Server, find


def server_named(name: str) -> Server:
    """Return a server; one with several NUMA nodes has one CPU in each: emulated CPUs only take turns."""
    server = find(name, layout.SERVERS)
    if len(server.nodes) == 1:
        return server
    return dataclasses.replace(server, nodes=[node.model_copy(update={"cpus": 1}) for node in server.nodes])
