# SPDX-License-Identifier: Apache-2.0
"""`millrace config diff` shows what a rendering would change and what was edited by hand."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.cli.program import millrace
from millrace.serve.certificate import cockpit
from millrace.serve.config import store
from millrace.serve.config.model import DesiredPort
from millrace.serve.revision import diff
from millrace.serve.revision.diff import ConfigDiff, FileDiff
from millrace.serve.share.edit import create_shares
from millrace.system import paths
from millrace.system.errors import BadInput, Refused
from tests.fakes.appliance import Appliance

EXPORTS = "etc/exports.d/millrace.exports"
MAC = "52:54:00:00:00:01"
NETWORK = "etc/systemd/network/40-millrace-525400000001.network"


def found(appliance: Appliance) -> ConfigDiff:
    """The difference; asking for it changes nothing."""
    before = {path: path.read_bytes() for path in appliance.root.rglob("*") if path.is_file()}
    calls = len(appliance.calls)
    made = diff.diff(appliance, appliance.server)
    after = {path: path.read_bytes() for path in appliance.root.rglob("*") if path.is_file()}
    assert {path: text for path, text in after.items() if path.name != "config.lock"} == {
        path: text for path, text in before.items() if path.name != "config.lock"
    }
    assert len(appliance.calls) == calls
    return made


@pytest.fixture
def served(appliance: Appliance) -> Appliance:
    cockpit.link()
    create_shares(["train"], {}, appliance.server)
    return appliance


def test_nothing_differs_after_a_change(served: Appliance) -> None:
    made = found(served)
    assert made.files == [] and made.files_compared > 8
    assert list(diff.lines(made)) == [f"All {made.files_compared} rendered files are as configured."]


def test_edit_by_hand_is_shown_as_one(served: Appliance) -> None:
    path = served.root / EXPORTS
    [line] = [line for line in path.read_text().splitlines() if line.startswith("/srv/pool/train")]
    path.write_text(path.read_text().replace(line, "/srv/pool/train *(rw)"))
    [one] = found(served).files
    assert (one.path, one.unit, one.action, one.edited) == (f"/{EXPORTS}", "nfs-server.service", "change", True)
    assert "-/srv/pool/train *(rw)" in one.lines and f"+{line}" in one.lines
    assert next(diff.lines(found(served))) == f"/{EXPORTS} (edited by hand) would be changed"


def test_other_networks_are_a_change_and_no_edit(served: Appliance) -> None:
    made = diff.diff(served, lambda: served.server("10.9.0.0/16"))
    assert [(one.path, one.edited) for one in made.files] == [
        (f"/{EXPORTS}", False),
        ("/etc/samba/smb.conf", False),
    ]


def test_deleted_file_would_be_made(served: Appliance) -> None:
    (served.root / "etc/projid").unlink()
    [one] = found(served).files
    assert (one.path, one.action, one.edited) == ("/etc/projid", "create", False)


def test_address_file_of_no_port_would_be_removed(served: Appliance) -> None:
    (served.root / NETWORK).parent.mkdir(parents=True)
    (served.root / NETWORK).write_text("[Match]\n")
    [one] = found(served).files
    assert (one.path, one.unit, one.action) == (f"/{NETWORK}", "systemd-networkd.service", "remove")
    assert one.lines[-1] == "-[Match]"


def test_port_without_its_file_would_get_one(served: Appliance) -> None:
    port = DesiredPort(mac=MAC, name="enp1s0", addresses=["10.0.0.11/24"])
    store.change("admin", "network set", lambda old: old.model_copy(update={"ports": [port]}))
    [one] = found(served).files
    assert (one.path, one.action) == (f"/{NETWORK}", "create") and "+Address=10.0.0.11/24" in one.lines


def test_journal_is_compared_with_the_policy(served: Appliance) -> None:
    paths.policy_file().parent.mkdir(parents=True)
    paths.policy_file().write_text('[journal]\nforward = "http://10.0.0.9"\n')
    [one] = found(served).files
    assert (one.path, one.action) == ("/etc/systemd/journal-upload.conf", "create")
    paths.policy_file().write_text('[journal]\nforward = "https://10.0.0.9"\n')
    with pytest.raises(BadInput, match="copy the certificate"):
        diff.diff(served, served.server)


def test_without_a_pool_no_file_of_a_share_is_wanted(appliance: Appliance) -> None:
    paths.pool_file().unlink()
    cockpit.link()
    assert found(appliance) == ConfigDiff(files_compared=5, files=[])


def test_only_root_compares(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(Refused, match="sudo"):
        diff.diff(appliance, appliance.server)


def test_verb_prints_text_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ConfigDiff(
        files_compared=2, files=[FileDiff(path="/etc/a", unit="", action="create", edited=False, lines=["+a"])]
    )
    monkeypatch.setattr(diff, "diff", lambda run: made)
    assert CliRunner().invoke(millrace, ["config", "diff"]).output == "/etc/a would be created\n+a\n"
    assert json.loads(CliRunner().invoke(millrace, ["config", "diff", "--json"]).output)["files"][0]["lines"] == ["+a"]


def test_link_of_the_web_console_that_leads_elsewhere_would_be_changed(served: Appliance) -> None:
    link = cockpit.directory() / "50-millrace.cert"
    link.unlink()
    link.symlink_to("/etc/ssl/other.pem")
    [file] = found(served).files
    assert (file.path, file.unit, file.action) == (
        "/etc/cockpit/ws-certs.d/50-millrace.cert",
        "cockpit.service",
        "change",
    )
    assert file.lines[-2:] == ["-/etc/ssl/other.pem", "+/var/lib/millrace/certificate/current/server.pem"]
