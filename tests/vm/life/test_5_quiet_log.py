# SPDX-License-Identifier: Apache-2.0
"""Logs of a healthy server that people use: an error in them is one that an administrator has to read."""

import pytest

from tests.vm import alone
from tests.vm.box import ADMIN_PASSWORD, Box
from tests.vm.life.words import mounted
from vm.console import sign_in
from vm.machine import Machine

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.usefixtures("in_use"), pytest.mark.soak]


@pytest.fixture
def begin(box: Box) -> str:
    """The time before these people come; earlier stories break things on purpose, which is logged."""
    # a second of its own: journalctl takes no fractions of "@"
    return box.say("sleep 1; date +@%s")


def logged(box: Box, begin: str) -> str:
    """Errors since then but those that `alone` knows, each on a line of its own, as a failed story shows them."""
    box.say("journalctl --sync")
    return "\n".join(alone.errors(box, begin))


@pytest.mark.parametrize("protocol", ["nfs-tcp", "smb"])
def test_work_on_a_share_logs_no_error(box: Box, client: Machine, begin: str, protocol: str) -> None:
    with mounted(client, protocol) as where:
        client.run(f"mkdir {where}/quiet && cp /etc/services {where}/quiet/a && mv {where}/quiet/a {where}/quiet/b")
        client.run(f"cmp /etc/services {where}/quiet/b && ls -l {where}/quiet && rm -r {where}/quiet", seconds=300)
    assert logged(box, begin) == ""


def test_sign_in_and_looking_around_log_no_error(box: Box, port: int, begin: str) -> None:
    assert sign_in(port, "admin", ADMIN_PASSWORD).status == 200
    for verb in ("status", "health", "pool show", "drive list", "share list", "history"):
        box.millrace(verb, check=False, seconds=300)
    box.say("systemctl start millrace-health.service")
    assert logged(box, begin) == ""


def test_password_that_is_wrong_is_no_error(box: Box, port: int, begin: str) -> None:
    """A person mistypes it each day; who guesses is locked out, which health shows."""
    assert sign_in(port, "admin", "not-the-password-of-admin").status == 401
    assert sign_in(port, "admin", ADMIN_PASSWORD).status == 200
    assert logged(box, begin) == ""


def test_share_that_is_made_and_removed_logs_no_error(box: Box, begin: str) -> None:
    box.millrace("share create quiet --smb-user admin", seconds=600)
    box.millrace("share remove quiet --delete-data quiet", seconds=600)
    assert logged(box, begin) == ""
