# SPDX-License-Identifier: Apache-2.0
"""A release is installed beside the running version, which stays as it is whatever fails, and rolled back."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.lifecycle.update import install, obstacles, records, stage, trial, update_paths
from millrace.lifecycle.update.install import SYSUPDATE
from millrace.lifecycle.update.model import LastUpdate, Outcome, UpdateOrder
from millrace.lifecycle.update.update_job import JOB, ORDER
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.unit.lifecycle.update.conftest import ESP, WELL, Server, make_release


def install_(server: Server, version: str = "0.2.0", **options: object) -> None:
    with stage.origin(make_release(server.root / "new" / version, version), server) as bring:
        found = stage.describe(bring, server)
        stage.fetch_files(found, bring, server)
    wanted = UpdateOrder.model_validate({"version": version, "by": "admin", **options})
    write_model(update_paths.order_file(), wanted)
    install.install(server, server.measure)


def test_installed_version_is_on_trial_with_how_the_one_before_served(server: Server) -> None:
    install_(server)
    assert server.entries == ["millrace_0.1.0.efi", "millrace_0.2.0+3-0.efi"]
    assert any(name.endswith(".usr.raw.zst") for name in server.written)
    on_trial = records.trial()
    assert on_trial is not None and (on_trial.version, on_trial.before, on_trial.serving) == ("0.2.0", "0.1.0", WELL)
    last = records.last()
    assert last is not None and (last.state, last.by) == ("installed", "admin")
    assert (paths.by_version_dir() / "0.1.0/config.json").is_file()
    assert server.called("systemctl start") == ["systemctl start millrace-trial.service"]
    # nothing of it stays: it has the size of the boot drive
    assert not update_paths.staged_dir().exists() and not update_paths.order_file().exists()


def test_failed_transfer_leaves_no_trial(server: Server) -> None:
    server.broken[SYSUPDATE] = Result(1, "", "No space left on device")
    with pytest.raises(Failed, match=r"0\.2\.0 cannot be written to the boot drive: No space left"):
        install_(server)
    assert records.trial() is None and server.entries == ["millrace_0.1.0.efi"]
    last = records.last()
    assert last is not None and last.state == "refused" and "No space left" in last.problems[0]
    assert not update_paths.staged_dir().exists()


def test_version_whose_transfer_was_cut_is_installed_by_the_next_attempt(server: Server) -> None:
    """Seen in a booted server: after a power cut within a transfer sysupdate refused this version for ever."""
    server.partial.add("0.2.0")
    install_(server)
    assert server.entries == ["millrace_0.1.0.efi", "millrace_0.2.0+3-0.efi"]


def test_version_that_does_not_start_is_not_installed(server: Server) -> None:
    server.broken[SYSUPDATE] = Result(0, "", "")
    with pytest.raises(Failed, match="not among the versions that start"):
        install_(server)
    assert records.trial() is None


def test_what_was_confirmed_is_what_is_installed(server: Server) -> None:
    install_(server)
    records.end_trial()
    with stage.origin(make_release(server.root / "new/0.3.0", "0.3.0"), server) as bring:
        stage.fetch_files(stage.describe(bring, server), bring, server)
    write_model(update_paths.order_file(), UpdateOrder(version="0.4.0", by="admin"))
    with pytest.raises(BadInput, match=r"0\.3\.0 is staged, 0\.4\.0 was confirmed"):
        install.install(server, server.measure)


def test_failed_version_needs_the_option_and_starts_three_times_again(server: Server) -> None:
    server.entry("millrace_0.2.0+0-3.efi")
    records.add_failed("0.2.0", ["NFS does not answer."])
    with pytest.raises(Refused, match=r"failed on this server \(NFS does not answer\).*--again"):
        install_(server)
    install_(server, again=True)
    assert server.entries == ["millrace_0.1.0.efi", "millrace_0.2.0+3-0.efi"]


@pytest.mark.parametrize(("version", "word"), [("0.0.9", "--older"), ("0.1.0", "running already")])
def test_older_and_running_versions_are_refused(server: Server, version: str, word: str) -> None:
    with pytest.raises(Refused, match=word):
        install_(server, version)
    if word == "--older":
        install_(server, version, older=True)


def test_older_version_starts_next_and_the_running_one_after_it_failed(server: Server) -> None:
    install_(server, "0.0.9", older=True)
    # systemd-boot starts the newest version that has tries left
    assert server.entries == ["millrace_0.0.9+3-0.efi", "millrace_0.1.0+0.efi"]
    server.root.joinpath(ESP, "millrace_0.0.9+3-0.efi").rename(server.root / ESP / "millrace_0.0.9+0-3.efi")
    trial.judge(server, server.measure)
    assert server.entries == ["millrace_0.0.9+0-3.efi", "millrace_0.1.0.efi"]


def test_older_version_that_did_not_run_yet_is_rolled_back(server: Server) -> None:
    install_(server, "0.0.9", older=True)
    install.rollback(server, "admin")
    assert server.entries == ["millrace_0.0.9+0.efi", "millrace_0.1.0.efi"]


def test_running_version_stays_first_where_an_older_one_cannot_be_installed(server: Server) -> None:
    server.broken[SYSUPDATE] = Result(1, "", "No space left on device")
    with pytest.raises(Failed):
        install_(server, "0.0.9", older=True)
    assert server.entries == ["millrace_0.1.0.efi"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("transaction.json", "being created"),
        ("adoption.json", "being adopted"),
        ("rescue.json", "rescued"),
        ("drive-change.json", "a drive is being replaced"),
        ("reset.json", "a factory reset"),
    ],
)
def test_work_on_the_pool_comes_first(server: Server, name: str, word: str) -> None:
    server.file(f"var/lib/millrace/{name}", "{}")
    with pytest.raises(Refused, match=word):
        install_(server)


def test_adoption_that_is_over_is_no_obstacle(server: Server) -> None:
    for name in ("adoption.json", "pool.json"):
        server.file(f"var/lib/millrace/{name}", "{}")
    with pytest.raises(BadInput, match=r"pool\.json"):
        install_(server)


def test_update_does_not_write_half_of_itself_to_another_drive(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstacles, "two_drives", lambda root: ("sda", "sdb"))
    with pytest.raises(Refused, match="loader is on drive sda and the system on sdb"):
        install_(server)
    assert server.entries == ["millrace_0.1.0.efi"]


def test_update_is_not_written_where_two_drives_are_of_one_image(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obstacles, "same_boot_partition", lambda root: ["sda", "sdb"])
    with pytest.raises(Refused, match="drives sda and sdb have the same boot partition: leave one of them in"):
        install_(server)
    assert server.entries == ["millrace_0.1.0.efi"]


@pytest.mark.parametrize(
    ("job", "word"),
    [
        ("bench", "millrace bench stop"),
        ("tuner", "millrace tuner stop"),
        ("reflink@clone", "millrace share clone-status"),
        ("reflink@snapshot", "millrace job cancel snapshot"),
        ("erase", "millrace drive list"),
        ("drive-test", "a drive is being tested"),
    ],
)
@pytest.mark.parametrize("state", ["activating", "active", "deactivating"])
def test_job_that_a_restart_would_end_comes_first(server: Server, job: str, word: str, state: str) -> None:
    server.states[f"millrace-{job}.service"] = state
    with pytest.raises(Refused, match=word):
        install_(server)


@pytest.mark.parametrize(("degraded", "allowed"), [(0, True), (1, False)])
def test_degraded_and_rebuilding_arrays_refuse(
    server: Server, monkeypatch: pytest.MonkeyPatch, degraded: int, allowed: bool
) -> None:
    array = SimpleNamespace(name="data", degraded=degraded, sync=None)
    pool = SimpleNamespace(filesystem=SimpleNamespace(mountpoint="/srv/pool"))
    monkeypatch.setattr(obstacles, "known_pool", lambda: pool)
    monkeypatch.setattr(obstacles, "live_arrays", lambda pool, bays: [array])
    monkeypatch.setattr("millrace.lifecycle.update.obstacles.mounts.mounted", lambda point: object())
    assert (obstacles.of_server(server) is None) is allowed
    assert obstacles.of_server(server, degraded=True) is None
    array.sync = SimpleNamespace(action="rebuild")
    assert "busy with a rebuild" in (obstacles.of_server(server, degraded=True) or "")
    array.sync = SimpleNamespace(action="check")
    assert obstacles.of_server(server, degraded=True) is None


def test_rollback_changes_which_version_starts(server: Server) -> None:
    server.runs("0.2.0")
    server.entry("millrace_0.2.0.efi")
    done = install.rollback(server, "admin")
    assert (done.version, done.before, done.state) == ("0.2.0", "0.1.0", "rolled-back")
    assert server.entries == ["millrace_0.1.0.efi", "millrace_0.2.0+0.efi"]


def test_rollback_of_a_version_that_did_not_run_yet(server: Server) -> None:
    install_(server)
    install.rollback(server, "admin")
    assert records.trial() is None
    assert server.entries == ["millrace_0.1.0.efi", "millrace_0.2.0+0.efi"]


def test_rollback_needs_another_version_that_serves(server: Server) -> None:
    with pytest.raises(Refused, match="no other version"):
        install.rollback(server, "admin")
    server.entry("millrace_0.2.0+0-3.efi")
    records.add_failed("0.2.0", [])
    with pytest.raises(Refused, match=r"0\.2\.0 failed on this server"):
        install.rollback(server, "admin")


WANTED = UpdateOrder(version="0.2.0", by="admin")


def last(state: Outcome, at: str, problem: str | None = None) -> LastUpdate:
    return LastUpdate(
        version="0.2.0", before="0.1.0", state=state, at=at, by="admin", problems=[problem] if problem else []
    )


def test_order_waits_and_reports_how_it_ended(server: Server) -> None:
    steps = iter(["activating", "activating", "inactive"])

    def installing() -> None:
        server.states[JOB.unit] = "activating"
        stage.report("installing")

    def pause(_: float) -> None:
        server.states[JOB.unit] = next(steps)
        records.save_last(last("installed", "2027"))

    server.before["systemctl start"] = installing
    records.save_last(last("installed", "2026"))
    assert install.order(WANTED, server, pause) == last("installed", "2027")
    assert list(steps) == [] and update_paths.order_file().stat().st_mode & 0o777 == 0o600
    server.states.clear()
    server.before.clear()
    # that one is known already
    with pytest.raises(Failed, match=r"the update was not installed: version 0\.2\.0 is staged no more"):
        install.order(WANTED, server)
    server.before["systemctl start"] = lambda: records.save_last(last("refused", "2028", "No space left on device"))
    with pytest.raises(Failed, match="the update was not installed: No space left on device"):
        install.order(WANTED, server)
    server.broken["systemctl start"] = Result(1, "", "Unit is masked.")
    with pytest.raises(Failed, match=r"millrace-update\.service does not start: Unit is masked"):
        install.order(WANTED, server)


def test_installation_is_listed_with_its_step_and_its_end(server: Server) -> None:
    assert JOB.glance() is None
    ORDER.write(WANTED)
    stage.report("staging", 25, 100)
    assert JOB.glance() == ("version 0.2.0: staging", 0.25, None, None)
    with pytest.raises(Refused, match="not cancelled"):
        JOB.cancel(server)
    install_(server)
    job = JOB.last(server)
    assert job is not None and job.state == "done"
    server.broken[SYSUPDATE] = Result(1, "", "No space left on device")
    records.end_trial()
    with pytest.raises(Failed):
        install_(server, "0.3.0")
    job = JOB.last(server)
    assert job is not None and job.state == "failed" and "No space left" in (job.reason or "")


class Killed(BaseException):
    """The process ends here."""


def test_installation_that_was_killed_leaves_nothing_and_can_be_repeated(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        server.entry("millrace_0.2.0+3-0.efi")
        raise Killed

    # the unit ends without a kill
    install.clean_up(server)
    assert records.last() is None
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(install, "_transfer", killed)
        # what a process that was killed does not do
        patched.setattr(stage, "clear", lambda: None)
        patched.setattr(type(ORDER), "remove", lambda _: None)
        install_(server)
    assert records.trial() is not None and update_paths.staged_dir().exists()
    install.clean_up(server)
    last_update, job = records.last(), JOB.last(server)
    assert last_update is not None and (last_update.version, last_update.state) == ("0.2.0", "interrupted")
    assert job is not None and job.state == "interrupted"
    assert (records.trial(), server.entries) == (None, ["millrace_0.1.0.efi"])
    assert not update_paths.staged_dir().exists() and ORDER.get() is None
    install_(server)
    install.clean_up(server)
    last_update = records.last()
    assert last_update is not None and last_update.state == "installed" and records.trial() is not None


def test_documents_of_a_version_are_whole_and_private(server: Server, tmp_path: Path) -> None:
    install_(server)
    assert paths.by_version_dir().stat().st_mode & 0o777 == 0o700
    assert [path.name for path in paths.by_version_dir().iterdir()] == ["0.1.0"]
