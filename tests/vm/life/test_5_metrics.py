# SPDX-License-Identifier: Apache-2.0
"""A monitoring system reads metrics by HTTPS; without the token, or where it is switched off, it reads nothing.

It is the host of the tests, which is beyond the firewall like a client and verifies the certificate for 127.0.0.1.
"""

import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from host.layout import REPO
from tests.unit.observe.metrics.scrape import Series, parsed, value, values
from tests.vm.box import ADMIN_PASSWORD, SERVER_ADDRESSES, Box
from tests.vm.life.words import METRICS
from vm.qemu import FORWARDED_FROM

pytestmark = pytest.mark.usefixtures("in_use")

TOKEN = "s3cret-token-of-a-scraper"
UNIT, COLLECT = "millrace-metrics.service", "millrace-metrics-collect.service"
COLLECTOR = "millrace-metrics-collector.service"
# What a server that is emulated on a busy host needs to answer.
PATIENCE = 120.0


@dataclass(frozen=True)
class Reply:
    status: int
    type: str
    text: str


# What the rules ask for and a server has not yet, or not with its hardware: a share with a limit, a check of an array,
# a kept state, an update, a message that waits, a bond, an RDMA port, memory and links whose errors are counted.
MAY_BE_MISSING = {
    "millrace_share_limit_bytes",
    "millrace_array_scrub_timestamp_seconds",
    "millrace_keep_verified_timestamp_seconds",
    "millrace_keep_complete",
    "millrace_update_outcome",
    "millrace_update_timestamp_seconds",
    "millrace_alert_queue_oldest_timestamp_seconds",
    "millrace_bond_member_up",
    "millrace_rdma_link_up",
    "millrace_rdma_errors_total",
    "millrace_memory_corrected_errors_total",
    "millrace_memory_uncorrected_errors_total",
    "millrace_pcie_corrected_errors_total",
    "millrace_pcie_uncorrected_errors_total",
}

# Given a token, or none, and perhaps how long to wait.
Scrape = Callable[..., Reply]


@pytest.fixture(scope="module")
def scrape(box: Box, metrics_port: int) -> Scrape:
    """Ask as Prometheus does: verify the certificate, send the token."""
    context = ssl.create_default_context(cadata=box.say("cat /var/lib/millrace/certificate/authority.pem"))

    def ask(token: str, seconds: float = PATIENCE) -> Reply:
        request = urllib.request.Request(f"https://127.0.0.1:{metrics_port}/metrics")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=seconds, context=context) as reply:
                return Reply(reply.status, reply.headers["Content-Type"], reply.read().decode())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers["Content-Type"], error.read().decode())

    return ask


def wait_listening(box: Box) -> None:
    box.machine.wait_command(f"ss -Htln 'sport = :{METRICS}' | grep -q .", "the endpoint", 300)


@pytest.fixture(scope="module")
def endpoint(box: Box) -> Iterator[None]:
    """Metrics for readers with the token."""
    box.say("systemctl start millrace-smart.service millrace-health.service")
    turned = box.machine.run("millrace metrics on --token-stdin --json", stdin=f"{TOKEN}\n", seconds=600)
    assert json.loads(turned.out)["new_token"] is None
    wait_listening(box)
    yield
    box.millrace("metrics off")


@pytest.fixture(scope="module")
def series(scrape: Scrape, endpoint: None) -> Series:
    """What the reader with the token gets."""
    reply = scrape(TOKEN)
    print(reply.text)
    assert (reply.status, reply.type) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    return parsed(reply.text)


def test_every_source_answers_a_reader_with_the_token(box: Box, series: Series) -> None:
    up = {dict(labels)["source"]: one for (name, labels), one in series.items() if name == "millrace_scrape_source_up"}
    print(box.say(f"journalctl -u {COLLECT} -u {COLLECTOR} -u {UNIT} --no-pager"))
    print(box.say(f"systemctl show -P CPUUsageNSec {COLLECT} {COLLECTOR} {UNIT}"))
    assert up and set(up.values()) == {1}, up


def test_metrics_are_collected_in_a_child_of_the_collector(box: Box, series: Series) -> None:
    assert series
    used = f"systemctl show -P CPUUsageNSec {COLLECTOR}"
    before = int(box.say(used))
    box.say(f"systemctl start {COLLECT}")
    # the messages of a collection that goes well are not in the journal; a verb that runs by itself costs the collector
    # nothing
    assert int(box.say(used)) - before > 10_000_000


def test_figures_are_those_of_the_commands(box: Box, series: Series) -> None:
    drives = box.shown("drive list --json")["drives"]
    assert {dict(labels)["serial"] for name, labels in series if name == "millrace_drive_info"} == {
        one["serial"] for one in drives
    }
    for one in drives:
        serial = one["serial"]
        verdict = {"millrace_drive_verdict": one["verdict"]}
        assert value(series, "millrace_drive_verdict", serial=serial, **verdict) == 1
        assert value(series, "millrace_drive_size_bytes", serial=serial) == one["size_bytes"]
        heat = values(series, "millrace_drive_temperature_celsius", serial=serial)
        assert heat == ([] if one["temperature_celsius"] is None else [one["temperature_celsius"]])
    pool = box.shown("pool show --json")
    for array in pool["arrays"]:
        assert value(series, "millrace_array_info", array=array["name"], level=array["level"]) == 1
        assert values(series, "millrace_array_missing_members", array=array["name"]) == [array["degraded"]]
        assert value(series, "millrace_array_size_bytes", array=array["name"]) == array["size"]
    assert value(series, "millrace_pool_size_bytes") == pool["filesystem"]["size"]
    assert value(series, "millrace_pool_inodes") > value(series, "millrace_pool_inodes_free") > 0
    assert value(series, "millrace_nfsd_threads") > 0
    ports = box.say("cd /sys/class/net; for p in *; do [ -e $p/device ] && echo $p; done; true").split()
    assert {dict(labels)["port"] for name, labels in series if name == "millrace_port_link_up"} == set(ports)
    health = box.read_json("cat /run/millrace/health.json")
    assert value(series, "millrace_health_level", millrace_health_level=health["level"]) == 1


def test_alert_rules_ask_for_what_the_server_has(series: Series) -> None:
    rules = (REPO / "docs/examples/prometheus-rules.yml").read_text()
    asked = set(re.findall(r"millrace_[a-z_]+", " ".join(re.findall(r"^ +expr: (.*)$", rules, re.MULTILINE))))
    assert asked - {name for name, _ in series} <= MAY_BE_MISSING


def test_xfs_threads_and_readings_have_figures(series: Series) -> None:
    assert value(series, "millrace_xfs_log_writes_total") > 0
    assert sum(values(series, "millrace_nfsd_pool_enqueued_total")) > 0
    assert value(series, "millrace_smart_age_seconds") < 3600
    assert set(values(series, "millrace_drive_smart_up")) == {1}


def test_reader_without_the_token_gets_nothing(scrape: Scrape, series: Series) -> None:
    for token in ("", f"{TOKEN}x"):
        reply = scrape(token)
        assert reply.status == 401 and "millrace_" not in reply.text


def test_endpoint_has_no_rights_and_keeps_no_token(box: Box, series: Series) -> None:
    found = box.say(f"systemctl show -P DynamicUser -P NoNewPrivileges -P CapabilityBoundingSet {UNIT}").split()
    assert sorted(found) == ["yes", "yes"]
    assert box.say("stat -c '%a %U' /var/lib/millrace/metrics/token.json") == "600 root"
    assert box.say("ps -eo args").count(TOKEN) == 0
    kept = "cat /var/lib/millrace/metrics/* /run/millrace/metrics.txt; journalctl -b --no-pager"
    assert box.find("millrace_scrape_source_up", kept) != ""
    assert box.find(TOKEN, kept) == ""
    assert [one for one in box.failed_units() if "metrics" in one] == []


def test_firewall_that_is_loaded_again_leaves_the_port_open(box: Box, scrape: Scrape, series: Series) -> None:
    box.say("systemctl reload nftables.service")
    assert scrape(TOKEN).status == 200


def test_allowed_address_needs_no_token_and_others_get_no_certificate(box: Box, scrape: Scrape, series: Series) -> None:
    box.millrace(["metrics", "on", "--from", "192.0.2.0/24"], seconds=600)
    wait_listening(box)
    with pytest.raises(OSError):
        scrape("")
    box.millrace(["metrics", "on", "--from", FORWARDED_FROM], seconds=600)
    wait_listening(box)
    assert scrape("").status == 200


def test_switched_off_endpoint_leaves_no_port_and_no_unit(box: Box, scrape: Scrape, series: Series) -> None:
    assert str(METRICS) in box.say("nft -j list set inet millrace tcp_services")
    assert box.millrace("metrics off").out == "Metrics are not served: millrace metrics on\n"
    closed = f"! nft -j list set inet millrace tcp_services | grep -q {METRICS}"
    box.machine.wait_command(closed, "the firewall to close the port", 30)
    assert box.say(f"ss -Htln 'sport = :{METRICS}'") == ""
    with pytest.raises(OSError):
        scrape(TOKEN, 10)
    left = "systemctl list-units --no-legend --state=active 'millrace-metrics*'; ls /var/lib/millrace/metrics/*.json"
    assert box.say(f"{left} 2>/dev/null; true") == ""
    assert not box.shown("metrics status --json")["enabled"]


def test_support_archive_has_what_it_lists_and_names_nobody(box: Box, series: Series) -> None:
    file = "/root/support.tar.zst"
    made = json.loads(box.machine.run(f"millrace support {file} --json", seconds=1200).out)
    print({one["name"]: (one["size"], one["problem"]) for one in made["parts"]})
    assert box.say(f"tar -tf {file}").split() == [one["name"] for one in made["parts"]]
    unavailable = {one["name"] for one in made["parts"] if one["problem"]}
    # there is no policy, and what was never written
    assert unavailable <= {"policy.toml", "config.json", "drives-known.json"}
    assert box.say(f"stat -c '%a %U' {file}") == "600 root"
    content = f"tar -xOf {file} --exclude=capture.tar.zst"
    assert int(box.say(f"{content} | grep -c millrace", seconds=600)) > 100
    serials = [one["serial"] for one in box.shown("drive list --json")["drives"] if one["serial"]]
    hashes = box.say("cut -d: -f2 /etc/shadow | grep '^[$]'").split()
    hidden = [ADMIN_PASSWORD, TOKEN, box.say("hostname"), SERVER_ADDRESSES[0], *serials, *hashes]
    assert len(serials) > 10 and hashes
    box.machine.run("umask 077; cat > /run/hidden", stdin="".join(f"{one}\n" for one in hidden))
    search = box.machine.run(f"{content} | grep -n -F -f /run/hidden", check=False, seconds=600)
    assert (search.status, search.out[:2000]) == (1, "")
    again = box.machine.run(f"millrace support {file}", check=False, seconds=300)
    assert (again.status, again.err) == (1, f"millrace: {file} already exists; choose another file\n")
    assert box.say(
        f"tar -xOf {file} capture.tar.zst > /run/c.tar.zst; millrace inventory --sysroot /run/c.tar.zst --json"
    )
