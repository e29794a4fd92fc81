# SPDX-License-Identifier: Apache-2.0
"""The firewall of a server that serves is closed, opened too wide and flushed: health names each, and nothing else."""

import pytest

from tests.vm.box import Box

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.usefixtures("in_use"), pytest.mark.soak]

AGAIN = "systemctl restart nftables.service"


def firewall(box: Box) -> list[tuple[str, str]]:
    """Key and level of each finding of the firewall now."""
    box.say("systemctl start millrace-health.service", seconds=600)
    found = box.read_json("cat /run/millrace/health.json")["findings"]
    return [(one["key"], one["level"]) for one in found if one["check"] == "firewall"]


def test_rules_of_the_image_are_all_right_with_what_units_add(box: Box) -> None:
    assert firewall(box) == [("firewall", "OK")]
    ssh = box.say("systemctl is-active ssh.service || true")
    box.say("systemctl start ssh.service")
    try:
        assert firewall(box) == [("firewall", "OK")]
    finally:
        box.say("true" if ssh == "active" else "systemctl stop ssh.service")


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        ("nft insert rule inet millrace input tcp dport 2049 drop", ("firewall/rules", "FAIL")),
        ("nft delete element inet millrace tcp_services '{ 445 }'", ("firewall/closed", "FAIL")),
        ("nft add element inet millrace tcp_services '{ 23 }'", ("firewall/opened", "WARN")),
        ("nft flush ruleset", ("firewall/open", "FAIL")),
    ],
)
def test_firewall_that_is_not_that_of_its_file_is_named_until_it_is_loaded_again(
    box: Box, fault: str, finding: tuple[str, str]
) -> None:
    box.say(fault)
    try:
        assert firewall(box) == [finding]
    finally:
        box.say(AGAIN)
    assert firewall(box) == [("firewall", "OK")]
