# SPDX-License-Identifier: Apache-2.0
"""Alerts of the server reach a webhook on the client; the secret stays with root and the service."""

from collections.abc import Iterator

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.webhook import SECRET, Webhook, webhook
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("in_use")

UNIT = "millrace-alert.service"


@pytest.fixture(scope="module")
def hook(box: Box, client: Machine) -> Iterator[Webhook]:
    """A route to a webhook on the client."""
    with webhook(box, client) as hook:
        yield hook


def test_test_message_arrives_with_no_secret_in_sight(box: Box, hook: Webhook) -> None:
    assert box.millrace("alert test client").out == "client: delivered\n"
    assert any(one["event"] == "test" for one in hook.messages)
    shown = box.say(f"millrace alert route list; journalctl -u {UNIT}; cat /run/millrace-alert/report.json")
    assert CLIENT_ADDRESSES[0] in shown and SECRET not in shown
    assert box.say("ps -eo args").count(SECRET) == 0
    # nobody but root and the service reads it
    secret = "/var/lib/millrace/alert/secrets.json"
    assert box.say(f"stat -c '%a %U' {secret}") == "600 root"
    assert box.say(f"systemctl show -P DynamicUser -P NoNewPrivileges {UNIT}").split() == ["yes", "yes"]
