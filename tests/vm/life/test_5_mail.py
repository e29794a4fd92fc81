# SPDX-License-Identifier: Apache-2.0
"""Alerts by mail: a mail server on the client with STARTTLS, one that hangs, and webhooks that take nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from host.layout import REPO
from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.life.words import SERVER, warn
from tests.vm.webhook import ROUTE, Webhook, webhook
from vm.machine import Machine

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_use")]

HOST, PORT = CLIENT_ADDRESSES[0], 587
USER, PASSWORD = "nas", "s3cret-of-the-mail-server"
SENDER, RECIPIENT = "nas@example.com", "ops@example.com"
MAIL = "/run/mail"
DRIVE = SERVER.drives[-1].serial
# What the server is to trust for this story alone; a real one trusts the authorities of its system.
AUTHORITY, DROP_IN = "/run/mail-authority.pem", "/run/systemd/system/millrace-alert.service.d"
CERTIFICATE = f"""
set -eu; mkdir -p {MAIL}; cd {MAIL}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out mail.pem -days 30 \
    -subj /CN=mail.example.com -addext subjectAltName=IP:{HOST}
: > mails
"""
ADD = f"millrace alert route add mail ops --server {HOST}:{PORT} --from {SENDER} --to {RECIPIENT} --user {USER}"


class Mails:
    """The mail server on the client."""

    def __init__(self, client: Machine) -> None:
        self._client = client

    def does(self, mode: str) -> None:
        """Let each further connection take mail, or hang."""
        self._client.run(f"cat > {MAIL}/mode", stdin=mode)

    @property
    def taken(self) -> list[dict[str, Any]]:
        """The mails that it took, in their order."""
        return [json.loads(line) for line in self._client.run(f"cat {MAIL}/mails").out.splitlines()]

    def wait(self, words: str, seconds: float) -> dict[str, Any]:
        """Wait for a mail that has these words, and return it."""

        def found() -> bool:
            return any(words in one["text"] for one in self.taken)

        self._client.wait_for(found, f"a mail with {words}", seconds)
        return next(one for one in self.taken if words in one["text"])


@pytest.fixture(scope="module")
def mails(box: Box, client: Machine) -> Iterator[Mails]:
    """A route to a mail server on the client, which asks for a password."""
    client.run(CERTIFICATE, seconds=300)
    client.run(f"cat > {MAIL}/mail.py", stdin=(REPO / "tests/vm/mail.py").read_text())
    mails = Mails(client)
    mails.does("take")
    client.run(f"systemd-run --unit=mail python3 {MAIL}/mail.py {HOST} {PORT} {MAIL}/mail.pem {MAIL}/key.pem {MAIL}")
    client.wait_command(f"ss -Htln 'sport = :{PORT}' | grep -q .", "the mail server", 120)
    box.machine.run(f"cat > {AUTHORITY}", stdin=client.run(f"cat {MAIL}/mail.pem").out)
    box.machine.run(f"{ADD} --password-stdin", stdin=f"{PASSWORD}\n", seconds=300)
    try:
        yield mails
    finally:
        box.say(f"millrace alert route remove ops; rm -rf {DROP_IN}; systemctl daemon-reload")
        client.run("systemctl stop mail.service || ! systemctl is-active mail.service")


def refused(box: Box, route: str) -> str:
    """What a test of a route says where it does not arrive: one sentence for the route, one for the command."""
    done = box.millrace(f"alert test {route}", check=False)
    assert done.status == 1
    assert done.err.strip() == f"millrace: the test message did not arrive by {route}"
    (line,) = done.out.splitlines()
    return line.removeprefix(f"{route}: ")


def test_certificate_of_an_unknown_authority_gets_no_password(box: Box, mails: Mails) -> None:
    assert "certificate" in refused(box, "ops").lower()
    assert mails.taken == []


def test_test_message_arrives_by_starttls(box: Box, mails: Mails) -> None:
    drop_in = f'[Service]\nEnvironment="SSL_CERT_FILE={AUTHORITY}"\n'
    box.machine.run(f"mkdir -p {DROP_IN}; cat > {DROP_IN}/authority.conf", stdin=drop_in)
    box.say("systemctl daemon-reload; systemctl restart millrace-alert.service")
    assert box.millrace("alert test ops").out == "ops: delivered\n"
    mail = mails.wait("Test: alerts of this server arrive here", 60)
    assert (mail["sender"], mail["recipients"]) == (SENDER, [RECIPIENT])
    shown = box.say("millrace alert route list; journalctl -u millrace-alert.service; cat /run/millrace-alert/*.json")
    assert RECIPIENT in shown and PASSWORD not in shown


def test_finding_waits_for_a_server_that_hangs_and_arrives_once(box: Box, mails: Mails) -> None:
    mails.does("hang")
    warn(box, DRIVE, 4)
    try:
        box.say("systemctl start millrace-health.service", seconds=600)
        said = "millrace alert route list --json"
        box.machine.wait_command(f"{said} | grep -q 'no reply within'", "the attempt to be over", 300)
        # of the mail server in 15 s, or on a slow host of the attempt in 60 s
        assert "no reply within" in refused(box, "ops")
        mails.does("take")
        # the longest pause is 5 minutes
        mail = mails.wait(DRIVE, 420)
    finally:
        mails.does("take")
        warn(box, DRIVE, 0)
        box.say("systemctl start millrace-health.service", seconds=600)
    print(mail)
    assert "critical warning" in mail["text"] and "To do: " in mail["text"]
    assert len({message["id"] for message in mails.taken if DRIVE in message["text"]}) == 1


@pytest.fixture(scope="module")
def hook(box: Box, client: Machine) -> Iterator[Webhook]:
    with webhook(box, client) as hook:
        yield hook


def test_webhook_that_redirects_or_fails_says_so_in_one_sentence(box: Box, hook: Webhook) -> None:
    before = len(hook.messages)
    hook.reply(302)
    redirects = f"{HOST} redirects (status 302): give the route the URL that it redirects to"
    assert refused(box, ROUTE) == redirects
    hook.reply(500)
    assert refused(box, ROUTE) == f"{HOST} replied with status 500"
    assert len(hook.messages) == before
    hook.reply(204)
    assert box.millrace(f"alert test {ROUTE}").out == f"{ROUTE}: delivered\n"
