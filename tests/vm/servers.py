# SPDX-License-Identifier: Apache-2.0
"""The virtual servers of tests/servers by name."""

from host import layout
from vm.server import Server, find


def server_named(name: str) -> Server:
    return find(name, layout.SERVERS)
