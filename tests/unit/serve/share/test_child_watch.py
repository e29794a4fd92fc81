# SPDX-License-Identifier: Apache-2.0
"""Directories that clients create get their quota at once; what was missed is made up for at the start."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.serve.share import child_quota, child_watch
from millrace.serve.share.edit import create_shares, remove_share, set_share
from millrace.serve.share.project_walk import Projects
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.commands import Commands

OWN = 1002 << 16


class Quota(Commands):
    TAKEN = ("xfs_quota -x -c report?-p?-n?-N?-b /srv/pool", "xfs_quota -x -c limit?-p?* ...")
    report = ""

    def _xfs_quota(self, words: Sequence[str], stdin: str) -> Result:
        return Result(0, self.report if words[2].startswith("report") else "", "")


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(child_quota, "UNFINISHED", "user.child-quota")
    top = tmp_path / "srv/pool/claims"
    top.mkdir(parents=True)
    rendered = tmp_path / paths.CHILD_QUOTA
    rendered.parent.mkdir(parents=True)
    one = {"name": "claims", "path": "/srv/pool/claims", "project": 1002, "kib": 1024, "inodes": 1 << 20}
    rendered.write_text(json.dumps({"mountpoint": "/srv/pool", "shares": [one]}))
    return top


def projects() -> Projects:
    known: dict[int, int] = {}
    return Projects(
        lambda one: known.get(os.fstat(one).st_ino, 1002),
        lambda one, new: known.update({os.fstat(one).st_ino: new}),
        lambda top: None,
    )


def state() -> dict[str, object]:
    found: dict[str, object] = json.loads(paths.child_quota_file().read_text())
    return found


def test_directories_get_their_limit_and_lose_it_when_they_are_gone(share: Path) -> None:
    run = Quota()
    run.report = f"#1002 8 0 0 00 [------]\n#{OWN + 9} 0 0 1024 00 [------]\n"
    (share / "before").mkdir()
    turns = iter([(share / "new").mkdir, (share / "before").rmdir, None])

    def wait(seconds: float) -> bool:
        turn = next(turns)
        if turn:
            turn()
        return turn is not None

    child_watch.main(wait, run, projects())
    said = [" ".join(call) for call in run.calls]
    command = f"xfs_quota -x -c limit -p bsoft=0 bhard=1024k ihard=1048576 {OWN + 10} /srv/pool"
    assert said[1] == command and said[2] == command, "when it is created, and at the start"
    # nobody has the project of a directory that is gone
    assert f"xfs_quota -x -c limit -p bsoft=0 bhard=0k ihard=0 {OWN + 9} /srv/pool" in said
    assert f"ihard=1048576 {OWN + 11} " in said[4]
    assert f"bhard=0k ihard=0 {OWN + 10} " in said[5]
    assert state() == {"children": {"claims": 1}, "problems": []}


def test_share_that_cannot_be_read_is_a_problem_and_no_end(share: Path) -> None:
    share.rmdir()
    child_watch.main(lambda seconds: False, Quota(), projects())
    [problem] = state()["problems"]  # type: ignore[misc]
    assert problem.startswith("claims: ") and "cannot be opened" in problem


def test_xfs_quota_that_fails_at_the_start_is_a_sentence_and_asked_again(
    share: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Quota()
    run.broken["xfs_quota -x -c report"] = Result(1, "", "xfs_quota: cannot find mount point")
    (share / "before").mkdir()
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        if len(waited) == 1:
            assert state()["problems"] == ["xfs_quota: xfs_quota: cannot find mount point"]
            run.broken.clear()
        return len(waited) < 2

    child_watch.main(wait, run, projects())
    assert waited[0] < 10 and state() == {"children": {"claims": 1}, "problems": []}
    assert "Traceback" not in capsys.readouterr().err


def test_directory_is_walked_again_in_seconds_and_then_left_alone(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(child_quota, "SETTLED", 0.0)

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        if len(waited) == 1:
            (share / "new").mkdir()
        return len(waited) < 4

    child_watch.main(wait, Quota(), projects())
    assert waited == [60.0, child_watch.AGAIN_SECONDS, 60.0, 60.0]


WATCH = """
import os, signal, sys
from pathlib import Path
from millrace.system import paths
from millrace.serve.share import child_watch
paths.ROOT = Path(sys.argv[1])
wait = child_watch.changes(["/srv/pool/claims"])
(paths.ROOT / "srv/pool/claims/a").mkdir()
(paths.ROOT / "srv/pool/claims/b").mkdir()
print(wait(60.0), flush=True)
os.kill(os.getpid(), signal.SIGTERM)
print("a look that takes minutes")
"""


def test_kernel_signals_a_new_directory_and_the_end(share: Path) -> None:
    """In a process of its own: the directories stay watched to its end, and what removes them would signal this one."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(paths.ROOT)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.split()) == (-signal.SIGTERM, ["True"]), done.stderr


def test_share_renders_what_is_watched_and_starts_the_unit(appliance: Appliance) -> None:
    create_shares(["claims"], {"child_size": "1G"}, appliance.server)
    [watched] = json.loads((appliance.root / paths.CHILD_QUOTA).read_text())["shares"]
    assert (watched["name"], watched["project"], watched["kib"]) == ("claims", 1002, 1 << 20)
    restart = "systemctl restart --no-block --job-mode=ignore-dependencies millrace-child-quota.service"
    assert appliance.called(restart)
    appliance.usage = f"#{OWN + 1} 4 0 1048576 00 [------]\n#1001 4 0 0 00 [------]\n"
    set_share("claims", {"child_size": "none"}, appliance.server)
    assert not (appliance.root / paths.CHILD_QUOTA).exists()
    assert appliance.called("systemctl stop millrace-child-quota.service")
    assert appliance.called(f"xfs_quota -x -c limit -p bsoft=0 bhard=0 ihard=0 {OWN + 1}")


def test_directories_count_to_the_share_again_where_it_gets_a_size(appliance: Appliance) -> None:
    create_shares(["claims"], {"child_size": "1G"}, appliance.server)
    (appliance.root / "srv/pool/claims/a").mkdir()
    appliance.projects.given[(appliance.root / "srv/pool/claims/a").stat().st_ino] = OWN + 1
    walked: list[list[str]] = []
    appliance.before["systemctl stop millrace-child-quota.service"] = lambda: walked.append(
        [name for name, _ in appliance.projects.calls if name != "data"]
    )
    set_share("claims", {"child_size": "none", "size": "10G"}, appliance.server)
    assert walked[0] == ["claims"] and appliance.projects.of("claims/a") == 1002


def test_removed_share_leaves_no_limits_of_its_directories(appliance: Appliance) -> None:
    create_shares(["claims"], {"child_size": "1G"}, appliance.server)
    appliance.usage = f"#{OWN + 1} 4 0 1048576 00 [------]\n"
    remove_share("claims", None, appliance.server)
    assert appliance.called(f"xfs_quota -x -c limit -p bsoft=0 bhard=0 ihard=0 {OWN + 1}")
