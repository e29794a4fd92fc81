# SPDX-License-Identifier: Apache-2.0
"""A monitoring system reads metrics by HTTPS; without the token, or where it is switched off, it reads nothing.

It is the host of the tests, which is beyond the firewall like a client and verifies the certificate for 127.0.0.1.
"""

import base64
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from host.captures.replay import inventory_of
from host.layout import REPO
from tests.unit.observe.metrics.scrape import Series, parsed, value, values
from tests.vm.box import ADMIN_PASSWORD, SERVER_ADDRESSES, Box
from tests.vm.life.words import METRICS
from vm.qemu import FORWARDED_FROM

pytestmark = pytest.mark.usefixtures("in_use")

TOKEN = "s3cret-token-of-a-scraper"
UNIT, COLLECT = "millrace-metrics.service", "millrace-metrics-collect.service"
COLLECTOR = "millrace-metrics-collector.service"
NODE_EXPORTER = "millrace-node-exporter.service"
# What a server that is emulated on a busy host needs to answer.
PATIENCE = 120.0


@dataclass(frozen=True)
class Reply:
    status: int
    type: str
    text: str


# The rules ask for these and a server has them not yet, or not with its hardware: a share with a limit, a check of an
# array, a kept state, an update, a message that waits, a bond, an RDMA port, memory and links whose errors are counted.
MAY_BE_MISSING = {
    "millrace_share_limit_bytes",
    "millrace_array_scrub_timestamp_seconds",
    "millrace_keep_verified_timestamp_seconds",
    "millrace_keep_complete",
    "millrace_update_outcome",
    "millrace_update_timestamp_seconds",
    "millrace_alert_queue_oldest_timestamp_seconds",
    "node_bonding_active",
    "node_bonding_slaves",
    "node_edac_correctable_errors_total",
    "node_edac_uncorrectable_errors_total",
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


def wait_for_node_exporter(scrape: Scrape) -> str:
    """Scrape until node_exporter replies: the first scrape starts it, which an emulated server may not do in time."""
    for _ in range(10):
        reply = scrape(TOKEN)
        assert (reply.status, reply.type) == (200, "text/plain; version=0.0.4; charset=utf-8"), reply
        if "\nmillrace_node_exporter_up 1\n" in reply.text:
            break
    return reply.text


@pytest.fixture(scope="module")
def series(box: Box, scrape: Scrape, endpoint: None) -> Series:
    """What the reader with the token gets."""
    text = wait_for_node_exporter(scrape)
    print(text)
    print(box.say(f"journalctl -u {NODE_EXPORTER} --no-pager; systemctl status {NODE_EXPORTER} --no-pager; true"))
    return parsed(text)


def test_every_source_answers_a_reader_with_the_token(box: Box, series: Series) -> None:
    up = {dict(labels)["source"]: one for (name, labels), one in series.items() if name == "millrace_scrape_source_up"}
    print(box.say(f"journalctl -u {COLLECT} -u {COLLECTOR} -u {UNIT} --no-pager"))
    print(box.say(f"systemctl show -P CPUUsageNSec {COLLECT} {COLLECTOR} {UNIT} {NODE_EXPORTER}"))
    assert up and set(up.values()) == {1}, up


def test_reader_with_the_token_gets_arrays_file_system_and_nfs_of_node_exporter(box: Box, series: Series) -> None:
    assert value(series, "millrace_node_exporter_up") == 1
    # the textfile is read, and each of its series is there once: `parsed` refuses a second one
    assert value(series, "node_textfile_scrape_error") == 0
    pool = box.shown("pool show --json")
    for array in pool["arrays"]:
        required = value(series, "node_md_disks_required", device=array["device"])
        active = value(series, "node_md_disks", device=array["device"], state="active")
        # md reports no such number for a raid0
        assert active > 0 and required - active == (array["degraded"] or 0)
        assert value(series, "millrace_array_info", array=array["name"], device=array["device"]) == 1
    [device] = {dict(labels)["device"] for name, labels in series if name == "node_xfs_write_calls_total"}
    assert (box.say("findmnt -n -o SOURCE /srv/pool | xargs readlink -f | xargs basename")) == device
    assert value(series, "node_nfsd_server_threads") > 0
    assert values(series, "node_nfsd_requests_total", proto="4", method="Read") != []
    ports = box.say("cd /sys/class/net; for p in *; do [ -e $p/device ] && echo $p; done; true").split()
    assert set(ports) <= {dict(labels)["device"] for name, labels in series if name == "node_network_carrier"}
    assert value(series, "node_memory_MemTotal_bytes") > 0
    # these have no data without their hardware
    failed = {
        dict(labels)["collector"]
        for (name, labels), sample in series.items()
        if name == "node_scrape_collector_success" and sample == 0
    }
    assert failed <= {"bonding", "infiniband", "thermal_zone"}


def test_node_exporter_listens_on_no_port_and_has_no_rights(box: Box, series: Series) -> None:
    assert box.say("ss -Htlnp | grep -i exporter; true") == ""
    assert box.say("systemctl is-enabled prometheus-node-exporter.service; true") == "masked"
    shown = box.say(f"systemctl show -P DynamicUser -P NoNewPrivileges -P CapabilityBoundingSet {NODE_EXPORTER}")
    assert shown.split() == ["yes", "yes"]
    pid = box.say(f"systemctl show -P MainPID {NODE_EXPORTER}")
    assert box.say(f"stat -c %U /proc/{pid}") != "root"
    # not around the token: neither a local user nor one of the web console
    assert box.say("stat -c '%a %U %G' /run/millrace/node-exporter.socket") == "660 root millrace-scrape"
    connect = "import socket; socket.socket(socket.AF_UNIX).connect('/run/millrace/node-exporter.socket')"
    asked = box.machine.run(["runuser", "-u", "nobody", "--", "python3", "-c", connect], check=False)
    assert asked.status != 0 and "PermissionError" in asked.err


def test_own_metrics_come_while_node_exporter_hangs(box: Box, scrape: Scrape, series: Series) -> None:
    box.say(f"systemctl kill --signal=STOP {NODE_EXPORTER}")
    try:
        reply = scrape(TOKEN)
    finally:
        box.say(f"systemctl kill --signal=CONT {NODE_EXPORTER}")
    found = parsed(reply.text)
    assert reply.status == 200 and value(found, "millrace_node_exporter_up") == 0
    assert values(found, "node_nfsd_server_threads") == [] and value(found, "millrace_pool_mounted") == 1
    assert "\nmillrace_node_exporter_up 1\n" in wait_for_node_exporter(scrape)


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
        drive["serial"] for drive in drives
    }
    for drive in drives:
        serial = drive["serial"]
        verdict = {"millrace_drive_verdict": drive["verdict"]}
        assert value(series, "millrace_drive_verdict", serial=serial, **verdict) == 1
        assert value(series, "millrace_drive_size_bytes", serial=serial) == drive["size_bytes"]
        heat = values(series, "millrace_drive_temperature_celsius", serial=serial)
        assert heat == ([] if drive["temperature_celsius"] is None else [drive["temperature_celsius"]])
    pool = box.shown("pool show --json")
    for array in pool["arrays"]:
        assert value(series, "millrace_array_info", array=array["name"], level=array["level"]) == 1
        assert value(series, "millrace_array_running", array=array["name"]) == 1
        assert values(series, "millrace_array_survivable_failures", array=array["name"]) == [array["may_fail"]]
    assert value(series, "millrace_pool_size_bytes") == pool["filesystem"]["size"]
    assert value(series, "millrace_pool_inodes") > value(series, "millrace_pool_inodes_free") > 0
    health = box.read_json("cat /run/millrace/health.json")
    assert value(series, "millrace_health_level", millrace_health_level=health["level"]) == 1


def test_alert_rules_ask_for_what_the_server_has(series: Series) -> None:
    groups = yaml.safe_load((REPO / "docs/examples/prometheus-rules.yml").read_text())["groups"]
    expressions = " ".join(rule["expr"] for group in groups for rule in group["rules"])
    asked = set(re.findall(r"\b(?:millrace|node)_[a-z_]+", expressions))
    missing = asked - {name for name, _ in series} - MAY_BE_MISSING
    # an RDMA port, and what its driver counts
    assert {name for name in missing if not name.startswith("node_infiniband_")} == set()


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
    kept = "cat /var/lib/millrace/metrics/* /run/millrace/metrics.d/*; journalctl -b --no-pager"
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
    units = "systemctl list-units --no-legend --plain --state=active 'millrace-metrics*' 'millrace-node-exporter*'"
    # it keeps the history
    assert [line.split()[0] for line in box.say(units).splitlines()] == [COLLECTOR]
    left = "ls /var/lib/millrace/metrics/*.json /run/millrace/metrics.d/* /run/millrace/node-exporter.socket"
    assert box.say(f"{left} 2>/dev/null; true") == ""
    assert not box.shown("metrics status --json")["enabled"]


def test_support_archive_has_what_it_lists_and_names_nobody(box: Box, series: Series, tmp_path: Path) -> None:
    file = "/root/support.tar.zst"
    made = json.loads(box.machine.run(f"millrace support {file} --json", seconds=1200).out)
    print({part["name"]: (part["size"], part["problem"]) for part in made["parts"]})
    assert box.say(f"tar -tf {file}").split() == [part["name"] for part in made["parts"]]
    unavailable = {part["name"] for part in made["parts"] if part["problem"]}
    # there is no policy, and what was never written
    assert unavailable <= {"policy.toml", "config.json", "drives-known.json"}
    assert box.say(f"stat -c '%a %U' {file}") == "600 root"
    content = f"tar -xOf {file} --exclude=capture.tar.zst"
    assert int(box.say(f"{content} | grep -c millrace", seconds=600)) > 100
    serials = [drive["serial"] for drive in box.shown("drive list --json")["drives"] if drive["serial"]]
    hashes = box.say("cut -d: -f2 /etc/shadow | grep '^[$]'").split()
    hidden = [ADMIN_PASSWORD, TOKEN, box.say("hostname"), SERVER_ADDRESSES[0], *serials, *hashes]
    assert len(serials) > 10 and hashes
    box.machine.run("umask 077; cat > /run/hidden", stdin="".join(f"{secret}\n" for secret in hidden))
    search = box.machine.run(f"{content} | grep -n -F -f /run/hidden", check=False, seconds=600)
    assert (search.status, search.out[:2000]) == (1, "")
    again = box.machine.run(f"millrace support {file}", check=False, seconds=300)
    assert (again.status, again.err) == (1, f"millrace: {file} already exists; choose another file\n")
    capture = tmp_path / "capture.tar.zst"
    capture.write_bytes(base64.b64decode(box.say(f"tar -xOf {file} capture.tar.zst | base64 -w0")))
    assert len(inventory_of(capture).drives) > 10


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_hardware_report_counts_the_drives_and_identifies_none(box: Box) -> None:
    drives = box.shown("inventory --json")["drives"]
    report = box.shown("support --hardware-report --json")
    assert sum(part["count"] for part in report["drives"]) == len(drives) > 10
    assert sum(part["count"] for part in report["ports"]) >= 2
    # the firmware of QEMU
    assert report["server"].startswith("QEMU") and report["layout"].startswith("pool: ")
    printed = box.millrace("support --hardware-report").out
    identity = [drive[field] for drive in drives for field in ("serial", "wwid") if drive[field]]
    hidden = [*identity, box.say("hostname"), box.say("cat /etc/machine-id"), *SERVER_ADDRESSES]
    assert len(identity) > 10 and [text for text in hidden if text in printed + json.dumps(report)] == []
