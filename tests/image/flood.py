# SPDX-License-Identifier: Apache-2.0
"""How many connections of one client the firewall of the image lets through.

`python -m tests.image.flood TREE PORT COUNT`, in mount and network namespaces of its own; prints the number.
"""

import os
import socket
import subprocess
import sys

SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
# a SYN that is dropped is sent again after a second, and nobody waits for that
SECONDS = 0.5


def main(tree: str, port: int, count: int) -> None:
    """A pair of linked devices; the client's end goes to a child's network."""
    ready, leave = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.unshare(os.CLONE_NEWNET)
        os.write(ready[1], b"x")
        os.read(leave[0], 1)
        _ip("addr", "add", f"{CLIENT}/24", "dev", "client")
        _ip("link", "set", "client", "up")
        print(_connect(port, count), flush=True)
        os._exit(0)
    os.read(ready[0], 1)
    _ip("link", "add", "server", "type", "veth", "peer", "name", "client", "netns", str(child))
    _ip("addr", "add", f"{SERVER}/24", "dev", "server")
    _ip("link", "set", "server", "up")
    rules = ["chroot", tree, "/usr/sbin/nft"]
    subprocess.run([*rules, "-f", "/etc/nftables.conf"], check=True)
    # as ssh.service does
    subprocess.run([*rules, "add", "element", "inet", "millrace", "tcp_services", "{", "22", "}"], check=True)
    listener = socket.create_server((SERVER, port), backlog=4096)
    os.write(leave[1], b"x")
    status = os.waitpid(child, 0)[1]
    listener.close()
    sys.exit(os.waitstatus_to_exitcode(status))


def _connect(port: int, count: int) -> int:
    """Open them one after another; a refused one waits for SECONDS, an accepted one not at all."""
    opened: list[socket.socket] = []
    for _ in range(count):
        try:
            opened.append(socket.create_connection((SERVER, port), SECONDS))
        except TimeoutError:
            continue
    return len(opened)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
