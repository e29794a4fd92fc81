# SPDX-License-Identifier: Apache-2.0
"""A webhook on the client: what arrives, and what it replies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.vm.box import CLIENT_ADDRESSES, Box
from vm.machine import Machine

PORT = 8080
SECRET = "s3cret-hook"
ROUTE = "client"
# What it accepted is in /run/alerts, a line each; what it replies is in /run/reply.
RECEIVER = f"""
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = int(open("/run/reply").read()) if self.path == "/{SECRET}" else 404
        if status == 204:
            with open("/run/alerts", "ab") as file:
                file.write(body + b"\\n")
        self.send_response(status)
        self.end_headers()

HTTPServer((sys.argv[1], {PORT}), Receiver).serve_forever()
"""


class Webhook:
    """The receiver on the client, or on the server itself where that has none."""

    def __init__(self, client: Machine, address: str = CLIENT_ADDRESSES[0]) -> None:
        self._client, self._address = client, address

    def listen(self, status: int = 204) -> None:
        """Begin to listen, and reply with this status."""
        self.reply(status)
        self._client.run(f"systemd-run --unit=webhook python3 /run/receiver.py {self._address}")
        self._client.wait_command(f"ss -Htln 'sport = :{PORT}' | grep -q .", "the webhook", 120)

    def reply(self, status: int) -> None:
        self._client.run("cat > /run/reply", stdin=str(status))

    def die(self) -> None:
        """Listen no more: connections are refused."""
        self._client.run("systemctl stop webhook.service || ! systemctl is-active webhook.service")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What was accepted, in the order of its arrival."""
        return [json.loads(line) for line in self._client.run("cat /run/alerts").out.splitlines()]

    def wait_message(self, event: str, word: str, count: int, seconds: float) -> None:
        """Wait until so many messages of an event that have this word were accepted."""
        found = f'grep -F {word} /run/alerts | grep -cF \'"event":"{event}"\''
        self._client.wait_for(
            lambda: int(self._client.run(found, check=False).out or 0) >= count, f"{count} {event} of {word}", seconds
        )


@contextmanager
def webhook(box: Box, client: Machine, address: str = CLIENT_ADDRESSES[0]) -> Iterator[Webhook]:
    """Add a route to a webhook on the client, which has this address; remove both at the end."""
    client.run("cat > /run/receiver.py", stdin=RECEIVER)
    client.run(": > /run/alerts")
    hook = Webhook(client, address)
    hook.listen()
    add = f"millrace alert route add webhook {ROUTE} --url-stdin"
    box.machine.run(add, stdin=f"http://{address}:{PORT}/{SECRET}\n", seconds=300)
    try:
        yield hook
    finally:
        box.say(f"millrace alert route remove {ROUTE}")
        hook.die()
