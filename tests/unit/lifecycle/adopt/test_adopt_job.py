# SPDX-License-Identifier: Apache-2.0
"""An adoption that a page began goes on without it, and says how far it is and why it stopped."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner, Result

from millrace.lifecycle.adopt import adopt, adopt_job, adopt_paths, progress, search, text, verbs
from millrace.lifecycle.adopt.arrays import OnDrives
from millrace.lifecycle.adopt.model import Adoption, SearchResult
from millrace.lifecycle.keep import generation
from millrace.lifecycle.keep.model import KeptElsewhere, Manifest, ManifestMember
from millrace.serve.config.model import first_config
from millrace.storage.record.model import MemberRecord
from millrace.system import paths, run
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, Refused
from tests.fakes.commands import Commands
from tests.fakes.jobs import JOBS
from tests.fakes.samples import found_pool, pool
from tests.unit.lifecycle.adopt import states

POOL = "b7e23ec2-9a1f-4b6e-9f0e-6b9c3f4d2a11"
ADOPTION = Adoption(pool=POOL, generation=3, by="admin", at="2026-11-23T10:00:00+00:00", secrets=True, ports={})
FOUND = SearchResult(pool=found_pool(POOL))


class Systemd(Commands):
    """systemd with the adoption's unit."""

    TAKEN: ClassVar = JOBS

    def __init__(self) -> None:
        super().__init__()
        self.state, self.job = "inactive", 0
        self.works_on: list[Callable[[], object]] = []
        self.others: dict[str, str] = {}

    def _systemctl(self, words: Sequence[str], _: str) -> run.Result:
        if words[0] == "start":
            # another unit comes first
            self.job = 1234
        elif words[0] == "show" and self.job and self.works_on:
            self.works_on.pop(0)()
        blocks = (
            f"Id={unit}\nActiveState={self.state}\nJob={self.job}"
            if unit == adopt_job.JOB.unit
            else f"Id={unit}\nActiveState={self.others.get(unit, 'inactive')}\nJob="
            for unit in words[2:]
        )
        return run.Result(0, "\n\n".join(blocks) + "\n" if words[0] == "show" else "", "")


@pytest.fixture
def systemd(root: object, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    made = Systemd()
    for module in (verbs, run):
        monkeypatch.setattr(module, "attempt", made)
    monkeypatch.setattr(run, "quickly", made)
    monkeypatch.setattr(verbs, "only_root", lambda: None)
    return made


def say(command: object, *words: str) -> Result:
    return CliRunner().invoke(command, words, catch_exceptions=False)  # type: ignore[arg-type]


def keep_state() -> None:
    stored = {states.CONFIG: first_config().model_dump_json().encode(), search.POOL: pool().model_dump_json().encode()}
    members = [
        ManifestMember(path=path, mode=0o644, secret=False, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        for path, data in stored.items()
    ]
    manifest = Manifest(
        generation=3,
        written="2026-11-23T10:00:00+00:00",
        release="0.1.0",
        host="filer",
        pool=POOL,
        pool_generation=1,
        seal=None,
        decided="",
        records="",
        members=members,
    )
    paths.state_dir().mkdir(parents=True, exist_ok=True)
    adopt_paths.state_file().write_bytes(generation.pack(manifest, stored))
    write_model(paths.adoption_file(), ADOPTION)


def restoring(monkeypatch: pytest.MonkeyPatch, outcome: Callable[[], list[str]]) -> None:
    monkeypatch.setattr("millrace.lifecycle.adopt.restore.restore", lambda *_: outcome())


def test_server_that_was_not_searched_has_found_nothing(systemd: Systemd) -> None:
    assert json.loads(say(verbs.found, "--json").output) == {
        "schema_version": 1,
        "found": None,
        "adoption": None,
        "running": False,
        "progress": None,
        "adopted": None,
        "elsewhere": None,
    }
    assert say(verbs.found).output == "no pool was searched for in this boot\n"


def test_what_the_boot_found_is_shown_without_a_look_at_a_drive(systemd: Systemd) -> None:
    write_model(adopt_paths.found_file(), FOUND)
    assert json.loads(say(verbs.found, "--json").output)["found"]["pool"]["uuid"] == POOL
    assert systemd.calls == []


def test_pool_that_came_home_is_shown_until_it_is_decided(systemd: Systemd) -> None:
    elsewhere = KeptElsewhere(
        pool=POOL, generation=5, written="2026-11-28T07:00:00+00:00", host="other", shares=["models"], users=["anna"]
    )
    write_model(paths.kept_elsewhere_file(), elsewhere)
    write_model(paths.pool_file(), pool())
    assert json.loads(say(verbs.found, "--json").output)["elsewhere"] == elsewhere.model_dump()
    first, decide = say(verbs.found).output.splitlines()
    assert first.startswith(
        "the pool is not served: the newest state on the pool, generation 5, was written by another"
    )
    assert "`millrace pool adopt`" in decide and "`millrace keep use-local`" in decide
    # an adoption has begun: it is decided
    paths.pool_file().unlink()
    assert adopt_job.state(systemd).elsewhere is None


def test_begun_adoption_goes_on_in_its_unit(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: object) -> Adoption:
        keep_state()
        return ADOPTION

    monkeypatch.setattr(search, "find", lambda *_: FOUND)
    monkeypatch.setattr(adopt, "begin", begin)
    said = json.loads(say(verbs.adopt, POOL, "--yes", "--detach", "--json").output)
    assert (said["adoption"]["pool"], said["running"]) == (POOL, True)
    assert ["systemctl", "start", "--no-block", adopt_job.JOB.unit] in systemd.calls
    assert not paths.pool_file().exists()


def test_adoption_that_failed_says_why_and_goes_on_when_it_is_asked_to(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> list[str]:
        raise Failed("tdbrestore failed: parse error")

    keep_state()
    restoring(monkeypatch, broken)
    with pytest.raises(Failed):
        adopt.finish(ADOPTION, systemd)
    state = adopt_job.state(systemd)
    assert state.adoption is not None and state.adoption.problem == "tdbrestore failed: parse error"
    assert list(text.here(state)) == [
        f"the adoption of pool {POOL} stopped: tdbrestore failed: parse error",
        "to go on: millrace pool adopt",
    ]
    assert not paths.pool_file().exists()
    say(verbs.adopt, "--yes", "--detach")
    assert read_model(paths.adoption_file(), Adoption).problem is None
    assert adopt_job.state(systemd).running


@pytest.mark.parametrize(("state", "runs"), [("activating", True), ("failed", False)])
def test_adoption_runs_as_long_as_its_unit_starts(systemd: Systemd, state: str, runs: bool) -> None:
    keep_state()
    systemd.state = state
    assert adopt_job.state(systemd).running is runs


def test_killed_adoption_is_said_to_be_interrupted(systemd: Systemd) -> None:
    keep_state()
    assert next(text.here(adopt_job.state(systemd))).endswith("stopped: it was interrupted")


def test_what_did_not_come_back_is_shown_after_the_end(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_state()
    restoring(monkeypatch, lambda: ["etc/krb5.keytab could not be kept: it does not come back"])
    adopt.finish(ADOPTION, systemd)
    found = adopt_job.state(systemd)
    assert found.adoption is None
    assert found.adopted is not None and found.adopted.missing == [
        "etc/krb5.keytab could not be kept: it does not come back"
    ]
    assert paths.pool_file().exists()


def test_members_that_are_away_are_named_by_the_kept_state() -> None:
    kept = pool()
    record = kept.arrays[0].model_copy(
        update={
            "members": [
                MemberRecord(serial=serial, wwid=serial, partuuid=serial, label=serial) for serial in ("A", "B", "C")
            ]
        }
    )
    kept = kept.model_copy(update={"arrays": [record]})

    def shown(slots: int, **members: str) -> list[str]:
        one = OnDrives(record.uuid, "data", "raid5", slots, members, {}, {})
        return search._shown([one], kept)[0].away

    assert shown(3, a1="A", c1="C") == ["B"]
    assert shown(3, a1="A", c1="C", d1="D") == []


def steps(systemd: Systemd, monkeypatch: pytest.MonkeyPatch, *work: Callable[[], object]) -> None:
    """The unit goes on between two looks of the terminal."""

    def begin(*_: object) -> Adoption:
        keep_state()
        return ADOPTION

    monkeypatch.setattr(search, "find", lambda *_: FOUND)
    monkeypatch.setattr(adopt, "begin", begin)
    monkeypatch.setattr(adopt, "serve", lambda run: None)
    monkeypatch.setattr(adopt_job.follow, "__defaults__", (lambda seconds: None,))
    systemd.works_on = list(work)


def test_adoption_of_a_terminal_is_one_of_the_server_and_its_steps_are_shown(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish() -> None:
        with adopt_job.JOB.execution():
            adopt.finish(ADOPTION, systemd)
        systemd.job = 0

    steps(
        systemd,
        monkeypatch,
        lambda: progress.record("files"),
        lambda: progress.record("accounts"),
        finish,
    )
    restoring(monkeypatch, list)
    done = say(verbs.adopt, POOL, "--yes")
    assert done.exit_code == 0
    assert "step 1 of 5: restoring files and databases\nstep 2 of 5: restoring users and passwords" in done.stderr
    assert "the pool of filer is adopted" in done.stdout
    assert paths.pool_file().exists() and not adopt_paths.progress_file().exists()
    last = adopt_job.JOB.last(systemd)
    assert last is not None and (last.what, last.by, last.state) == (f"pool {POOL}", "admin", "done")


def test_step_is_shown_to_those_who_did_not_begin_the_adoption(systemd: Systemd) -> None:
    keep_state()
    systemd.state = "activating"
    progress.record("ports")
    found = adopt_job.state(systemd)
    assert found.running and found.progress is not None and found.progress.done == 2
    assert list(text.here(found))[1] == "step 3 of 5: setting addresses"


def test_terminal_says_why_the_adoption_stopped(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop() -> None:
        systemd.job, systemd.state = 0, "failed"
        write_model(paths.adoption_file(), ADOPTION.model_copy(update={"problem": "tdbrestore failed"}))

    steps(systemd, monkeypatch, lambda: progress.record("files"), stop)
    with pytest.raises(Failed, match="tdbrestore failed"):
        say(verbs.adopt, POOL, "--yes")


def test_adoption_goes_on_where_its_progress_cannot_be_recorded(root: Path) -> None:
    adopt_paths.progress_file().mkdir()
    progress.record("files")
    assert progress.PROGRESS.get() is None


def test_adoption_does_not_begin_beside_an_update(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adopt, "begin", lambda *_: pytest.fail("it began"))
    systemd.others["millrace-update.service"] = "activating"
    with pytest.raises(Refused, match="an update is being installed; wait until that is done"):
        say(verbs.adopt, POOL, "--yes")
    assert systemd.called("systemctl start") == []


def test_adoption_that_runs_is_not_started_again(systemd: Systemd) -> None:
    keep_state()
    progress.record("ports")
    systemd.state = "activating"
    adopt_job.start(ADOPTION, systemd)
    assert systemd.called("systemctl start") == [] and progress.PROGRESS.get() is not None


def test_interrupted_adoption_waits_for_the_next_boot_and_goes_on_in_it(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_state()
    restoring(monkeypatch, list)
    adopt_job.start(ADOPTION, systemd)
    progress.record("services")
    assert adopt_job.JOB.glance() == ("restarting services", 0.6, None, None)
    # a power cut
    systemd.job = 0
    last = adopt_job.JOB.last(systemd)
    assert last is not None and last.state == "waiting"
    assert say(verbs.adopting).exit_code == 0
    last = adopt_job.JOB.last(systemd)
    assert last is not None and (last.by, last.state) == ("admin", "done")
    with pytest.raises(Refused, match="an adoption is not cancelled"):
        adopt_job.JOB.cancel(systemd)
