# SPDX-License-Identifier: Apache-2.0
"""Manual edits of rendered files are kept, reported, and never stop the server."""

import pytest

from millrace.observe.health.checks import shares
from millrace.observe.health.model import Level
from millrace.serve.config import store
from millrace.serve.render import rendered
from millrace.serve.share import export_table
from millrace.serve.share.edit import create_shares
from millrace.serve.share.server import ShareServer
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.unit.observe.health.servers import host, sentences

EXPORTS = "etc/exports.d/millrace.exports"
EDIT = "/srv/pool/data 10.0.0.9(rw)\n"


@pytest.fixture
def server(appliance: Appliance) -> ShareServer:
    """A server that rendered once."""
    context = appliance.server()
    context.apply(store.load())
    return context


def edit(appliance: Appliance) -> None:
    (appliance.root / EXPORTS).write_text(EDIT)


def test_rendering_twice_finds_no_drift(appliance: Appliance, server: ShareServer) -> None:
    report = server.apply(store.load())
    assert (report.changed, report.drift, rendered.edited()) == ([], [], [])
    assert [one.level for one in shares.check(host())] == [Level.OK]


def test_an_edit_is_reported_and_stays_over_boots(appliance: Appliance, server: ShareServer) -> None:
    edit(appliance)
    report = server.apply(store.load())
    assert report.drift == ["/" + EXPORTS]
    assert (appliance.root / EXPORTS).read_text() == EDIT
    assert "/etc/exports.d/millrace.exports was edited by hand" in sentences(shares.check(host()))


def test_force_puts_ours_back_and_keeps_the_edit_aside(appliance: Appliance, server: ShareServer) -> None:
    ours = (appliance.root / EXPORTS).read_text()
    edit(appliance)
    report = server.apply(store.load(), force=True)
    assert report.drift == report.changed == ["/" + EXPORTS]
    assert (appliance.root / EXPORTS).read_text() == ours
    [aside] = rendered.aside_dir().iterdir()
    assert aside.read_text() == EDIT
    assert rendered.edited() == []


def test_the_next_change_puts_ours_back_and_says_so(appliance: Appliance, server: ShareServer) -> None:
    edit(appliance)
    report = create_shares(["train"], {}, lambda: server)
    assert any("was edited by hand" in warning for warning in report.warnings)
    assert next(rendered.aside_dir().iterdir()).read_text() == EDIT


def test_an_edit_that_says_what_we_want_is_none(appliance: Appliance, server: ShareServer) -> None:
    ours = (appliance.root / EXPORTS).read_text()
    edit(appliance)
    (appliance.root / EXPORTS).write_text(ours)
    assert server.apply(store.load()).drift == []


def test_a_deleted_file_comes_back(appliance: Appliance, server: ShareServer) -> None:
    (appliance.root / EXPORTS).unlink()
    assert rendered.edited() == [EXPORTS]
    assert "/" + EXPORTS in server.apply(store.load()).changed
    assert rendered.edited() == []


def test_a_new_address_is_no_edit(appliance: Appliance, server: ShareServer) -> None:
    report = appliance.server("10.9.0.0/24").apply(store.load())
    assert report.drift == [] and "/" + EXPORTS in report.changed


def test_a_foreign_file_is_named_and_does_not_stop_nfs(appliance: Appliance, server: ShareServer) -> None:
    (appliance.root / "etc/exports.d/other.exports").write_text("# mine\n/opt *(rw,purple)\n")
    (appliance.root / "etc/exports").write_text("# only a comment\n")
    words = 'exportfs: /etc/exports.d/other.exports:2: unknown keyword "purple"\n'
    appliance.before["exportfs -ra"] = lambda: appliance._exportfs(["-ra"], "") and None
    appliance.broken["exportfs -ra"] = Result(1, "", words)
    report = server.apply(store.load())
    assert "exportfs reported: " + words.strip() in report.warnings
    assert any(
        warning.startswith("/etc/exports.d/other.exports is not managed by Millrace") for warning in report.warnings
    )
    assert "nfs-server.service" in report.reloaded
    assert "other.exports exports a directory that is not a share" in sentences(shares.check(host()))


def test_a_share_of_ours_that_exportfs_drops_is_a_failure(appliance: Appliance, server: ShareServer) -> None:
    appliance.broken["exportfs -ra"] = Result(1, "", "exportfs: unknown keyword\n")
    appliance.table = {}
    with pytest.raises(Failed, match="does not export data: exportfs: unknown keyword"):
        server.apply(store.load())


def test_exportfs_that_cannot_write_its_table_is_a_failure(appliance: Appliance, server: ShareServer) -> None:
    server.apply(store.load())
    # it exits with 0, and what mountd reads stays as it was
    appliance.broken["exportfs -ra"] = Result(0, "", "")
    table = appliance.root / "run/millrace/nfs/etab"
    for text in ("", "/srv/pool/data\t10.77.0.0/16(rw)\n"):
        table.write_text(text)
        with pytest.raises(Failed, match="does not export data: it did not write its table of exports"):
            server.apply(store.load())


def test_a_damaged_state_is_a_finding_with_what_to_do(appliance: Appliance, server: ShareServer) -> None:
    create_shares(["train"], {}, lambda: server)
    (appliance.root / "var/lib/millrace/config.json").write_text("{")
    [finding] = shares.check(host())
    assert finding.level is Level.WARN and "is damaged" in finding.sentence and finding.todo


def test_shares_that_cannot_be_opened_without_io_uring_are_a_failure(appliance: Appliance, server: ShareServer) -> None:
    (appliance.root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
    (appliance.root / "proc/sys/kernel/io_uring_disabled").write_text("2\n")
    assert [one.level for one in shares.check(host())] == [Level.OK]
    create_shares(["train"], {"type": "training", "nfs": False}, lambda: server)
    assert "FAIL: The kernel refuses io_uring: train" in sentences(shares.check(host()))


def test_export_of_a_benchmark_is_ours_and_one_of_another_is_not(appliance: Appliance, server: ShareServer) -> None:
    directory = appliance.root / "etc/exports.d"
    (directory / "millrace-bench.exports").write_text("/srv/pool/.millrace-bench 10.0.0.9(rw)\n")
    assert export_table.foreign_files() == []
    (directory / "o.exports").write_text("/srv/other 10.0.0.0/24(ro)\n")
    assert export_table.foreign_files() == ["/etc/exports.d/o.exports"]
