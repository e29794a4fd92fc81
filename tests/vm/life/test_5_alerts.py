# SPDX-License-Identifier: Apache-2.0
"""Alerts of the server reach a webhook on the client; the secret stays with root and the service."""

import json
from collections.abc import Iterator

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("in_use")

PORT = 8080
SECRET = "s3cret-hook"
UNIT = "millrace-alert.service"
# What it took is in /run/alerts, a line each.
RECEIVER = f"""
from http.server import BaseHTTPRequestHandler, HTTPServer

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        known = self.path == "/{SECRET}"
        if known:
            with open("/run/alerts", "ab") as file:
                file.write(body + b"\\n")
        self.send_response(204 if known else 404)
        self.end_headers()

HTTPServer(("{CLIENT_ADDRESSES[0]}", {PORT}), Receiver).serve_forever()
"""


@pytest.fixture(scope="module")
def webhook(box: Box, client: Machine) -> Iterator[None]:
    """A route to a webhook on the client."""
    client.run("cat > /run/receiver.py", stdin=RECEIVER)
    client.run("rm -f /run/alerts; systemd-run --unit=webhook python3 /run/receiver.py")
    client.wait_command(f"ss -Htln 'sport = :{PORT}' | grep -q .", "the webhook", 120)
    add = "millrace alert route add webhook client --url-stdin"
    box.machine.run(add, stdin=f"http://{CLIENT_ADDRESSES[0]}:{PORT}/{SECRET}\n", seconds=300)
    yield
    box.say("millrace alert route remove client")
    client.run("systemctl stop webhook.service")


def test_test_message_arrives_with_no_secret_in_sight(box: Box, client: Machine, webhook: None) -> None:
    assert box.millrace("alert test client").out == "client: delivered\n"
    assert any(json.loads(line)["event"] == "test" for line in client.run("cat /run/alerts").out.splitlines())
    shown = box.say(f"millrace alert route list; journalctl -u {UNIT}; cat /run/millrace-alert/report.json")
    assert CLIENT_ADDRESSES[0] in shown and SECRET not in shown
    assert box.say("ps -eo args").count(SECRET) == 0
    # nobody but root and the service reads it
    secret = "/var/lib/millrace/alert/secrets.json"
    assert box.say(f"stat -c '%a %U' {secret}") == "600 root"
    assert box.say(f"systemctl show -P DynamicUser -P NoNewPrivileges {UNIT}").split() == ["yes", "yes"]
