# SPDX-License-Identifier: Apache-2.0
"""A new version is accepted when it serves no worse; else the one before runs again and records why."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.lifecycle.update import documents, records, serving, trial
from millrace.lifecycle.update.model import Serving
from millrace.lifecycle.update.serving import worse
from millrace.system import paths
from millrace.system.errors import BadInput, Failed
from tests.unit.lifecycle.update.conftest import WELL, Server


@pytest.fixture
def installed(server: Server) -> Server:
    trial.begin("0.2.0", "admin", WELL)
    server.entry("millrace_0.2.0+3-0.efi")
    return server


class Clock:
    """Seconds that passed while nothing happened."""

    def __init__(self) -> None:
        self.now = 0.0

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def read(self) -> float:
        return self.now


def judged(server: Server) -> str:
    clock = Clock()
    return " ".join(trial.judge(server, server.measure, clock.pause, clock.read))


def boot(server: Server, version: str, tries: int) -> None:
    server.runs(version)
    for path in (paths.ROOT / "boot/EFI/Linux").glob("millrace_0.2.0*"):
        path.unlink()
    server.entry(f"millrace_0.2.0+{tries}-{3 - tries}.efi")


def test_version_that_serves_as_before_is_accepted(installed: Server) -> None:
    boot(installed, "0.2.0", 2)
    records.add_failed("0.2.0", ["an earlier try"])
    assert "is accepted" in judged(installed)
    last = records.last()
    assert last is not None and (last.state, last.version, last.before) == ("accepted", "0.2.0", "0.1.0")
    assert records.trial() is None and records.failed().versions == []


def test_version_that_is_late_is_waited_for(installed: Server) -> None:
    boot(installed, "0.2.0", 2)
    late = iter([WELL.model_copy(update={"pool": False}), WELL.model_copy(update={"nfs": False}), WELL])
    assert "is accepted" in " ".join(trial.judge(installed, lambda run: next(late), lambda seconds: None))


@pytest.mark.parametrize(
    ("jobs", "failed", "seconds"),
    [
        ("", "", 90),
        ("85 millrace-boot-check.service start running\n9 multi-user.target start waiting\n", "", 90),
        ("990 smbd.service start running\n", "", 600),
        ("", "smbd.service", 20),
        # NFS answers all the same
        ("", "nfs-server.service", 90),
        ("990 smbd.service start running\n", "smbd.service", 600),
    ],
)
def test_nobody_waits_for_what_is_not_started(installed: Server, jobs: str, failed: str, seconds: int) -> None:
    boot(installed, "0.2.0", 2)
    installed.states = {failed: "failed"}
    installed.serving, installed.jobs = WELL.model_copy(update={"smb": False}), jobs
    clock = Clock()
    with pytest.raises(Failed, match="SMB"):
        trial.judge(installed, installed.measure, clock.pause, clock.read)
    assert clock.now == seconds


def test_time_of_a_look_counts(installed: Server) -> None:
    """Where a service does not answer it is asked for seconds."""
    boot(installed, "0.2.0", 2)
    installed.states = {"smbd.service": "failed"}
    clock = Clock()

    def slow(run: object) -> Serving:
        clock.pause(8)
        return WELL.model_copy(update={"smb": False})

    with pytest.raises(Failed, match="SMB"):
        trial.judge(installed, slow, clock.pause, clock.read)
    assert 20 <= clock.now <= 20 + 8 + trial.STEP


def test_three_tries_then_the_version_before_says_why(installed: Server) -> None:
    installed.serving = WELL.model_copy(update={"nfs": False, "arrays": {"log": 2, "data": 7}})
    for tries in (2, 1, 0):
        boot(installed, "0.2.0", tries)
        with pytest.raises(
            Failed, match=r"serves worse than 0\.1\.0: Array data has 7 members in sync, it had 8\. NFS"
        ):
            judged(installed)
    on_trial = records.trial()
    assert on_trial is not None and on_trial.tries == 3
    boot(installed, "0.1.0", 0)
    installed.serving = WELL
    assert "0.2.0 failed and 0.1.0 runs again: Array data" in judged(installed)
    last = records.last()
    assert last is not None and last.state == "failed" and "NFS does not answer." in last.problems
    assert [version.version for version in records.failed().versions] == ["0.2.0"]
    assert judged(installed) == "no version is on trial"


def test_version_that_never_came_up_failed_too(installed: Server) -> None:
    boot(installed, "0.1.0", 0)
    assert "did not come up far enough" in judged(installed)
    assert records.failed().versions[0].version == "0.2.0"


def test_member_lost_before_the_reboot_is_not_the_fault_of_the_new_version(installed: Server) -> None:
    installed.serving = WELL.model_copy(update={"arrays": {"log": 2, "data": 7}})
    trial.last_look(installed, installed.measure)
    boot(installed, "0.2.0", 2)
    assert "is accepted" in judged(installed)


@pytest.mark.parametrize(("version", "pool"), [("0.1.0", False), ("0.2.0", True)])
def test_stopped_arrays_and_the_new_version_itself_do_not_count(installed: Server, version: str, pool: bool) -> None:
    installed.runs(version)
    installed.serving = WELL.model_copy(update={"arrays": {}, "pool": pool})
    trial.last_look(installed, installed.measure)
    found = records.trial()
    assert found is not None and found.serving == WELL


def test_shutdown_without_a_trial_measures_nothing(server: Server) -> None:
    trial.last_look(server, lambda run: pytest.fail("it was measured"))
    assert records.trial() is None


def test_share_that_was_removed_since_is_not_missed(installed: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SimpleNamespace(filesystem=SimpleNamespace(mountpoint="/srv/pool"))
    models = SimpleNamespace(path="/srv/pool/models", exports=[])
    monkeypatch.setattr(serving, "known_pool", lambda: pool)
    monkeypatch.setattr(serving, "shares", lambda pool: [models])
    before = WELL.model_copy(update={"exported": ["/srv/pool/gone", "/srv/pool/models", "/mnt"]})
    assert serving.still_wanted(before).exported == ["/mnt"]
    boot(installed, "0.2.0", 2)
    installed.serving = WELL.model_copy(update={"exported": []})
    assert "is accepted" in judged(installed)


def test_share_that_is_still_wanted_is_missed(installed: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SimpleNamespace(filesystem=SimpleNamespace(mountpoint="/srv/pool"))
    models = SimpleNamespace(path="/srv/pool/models", exports=["10.0.0.0/8"])
    monkeypatch.setattr(serving, "known_pool", lambda: pool)
    monkeypatch.setattr(serving, "shares", lambda pool: [models])
    assert serving.still_wanted(WELL) == WELL

    def unreadable(pool: object) -> None:
        raise Failed("config.json is damaged")

    monkeypatch.setattr(serving, "shares", unreadable)
    assert serving.still_wanted(WELL) == WELL


def test_check_that_hangs_is_a_try_with_a_reason(installed: Server) -> None:
    class Ended(BaseException):
        """The unit was killed."""

    def hangs(run: object) -> Serving:
        raise Ended

    for tries in (2, 1, 0):
        boot(installed, "0.2.0", tries)
        with pytest.raises(Ended):
            trial.judge(installed, hangs)
    on_trial = records.trial()
    assert on_trial is not None and on_trial.tries == 3
    boot(installed, "0.1.0", 0)
    assert "0.2.0 failed and 0.1.0 runs again: It was not known in time how it serves." in judged(installed)


def test_pool_document_that_cannot_be_read_is_the_reason(installed: Server) -> None:
    def unreadable(run: object) -> Serving:
        raise BadInput("pool.json cannot be read")

    boot(installed, "0.2.0", 2)
    with pytest.raises(Failed, match=r"not known: pool\.json cannot be read\."):
        clock = Clock()
        trial.judge(installed, unreadable, clock.pause, clock.read)
    found = records.trial()
    assert found is not None and (found.tries, "pool.json" in found.problems[0]) == (1, True)


def test_interrupted_installation_is_no_failed_version(installed: Server) -> None:
    (paths.ROOT / "boot/EFI/Linux/millrace_0.2.0+3-0.efi").unlink()
    assert "not installed completely" in judged(installed)
    last = records.last()
    assert last is not None and last.state == "interrupted" and records.failed().versions == []


def test_version_before_chosen_by_hand_stays(installed: Server) -> None:
    assert "chosen at the boot menu" in judged(installed)
    assert installed.entries == ["millrace_0.1.0.efi", "millrace_0.2.0+0.efi"]


def test_record_that_cannot_be_read_reboots_nothing(server: Server) -> None:
    server.file("var/lib/millrace/update/before.json", "{torn")
    assert "not known" in judged(server)
    assert records.trial() is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"pool": False}, "The pool is not mounted."),
        ({"arrays": {"log": 2}}, "Array data has 0 members in sync, it had 8."),
        ({"nfs": False}, "NFS does not answer."),
        ({"smb": False}, "SMB does not answer."),
        ({"exported": []}, "NFS does not export /srv/pool/models."),
        ({"console": False}, "The web console does not run."),
    ],
)
def test_each_thing_that_is_worse_is_named(change: dict[str, object], sentence: str) -> None:
    assert worse(WELL, WELL.model_copy(update=change)) == [sentence]
    assert worse(WELL.model_copy(update=change), WELL) == []


def test_documents_of_a_later_schema_are_replaced_and_others_kept(server: Server) -> None:
    decided = server.file("var/lib/millrace/config.json", '{"schema_version": 1, "revision": 7}')
    pool = server.file("var/lib/millrace/pool.json", '{"schema_version": 1}')
    documents.keep("0.1.0")
    decided.write_text('{"schema_version": 1, "revision": 8}')
    pool.write_text('{"schema_version": 2}')
    assert documents.restore("0.1.0") == ["pool.json"]
    assert '"revision": 8' in decided.read_text() and '"schema_version": 1' in pool.read_text()
    assert documents.restore("0.2.0") == []


def test_documents_of_one_version_are_kept(server: Server) -> None:
    documents.keep("0.1.0")
    documents.keep("0.2.0")
    assert [path.name for path in sorted(Path(paths.by_version_dir()).iterdir())] == ["0.2.0"]
