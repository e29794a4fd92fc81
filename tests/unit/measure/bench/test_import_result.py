# SPDX-License-Identifier: Apache-2.0
"""What a client measured by hand becomes a run of the server, or nothing does."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.measure.bench.plan.client_program import bundle
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.model import BenchRun, BenchState
from millrace.measure.bench.run.remote import import_result
from millrace.system import paths
from millrace.system.errors import BadInput
from millrace_client import by_hand
from tests.unit.measure.bench.remotes import FACTS, tool
from tests.unit.measure.bench.sites import request, site
from tests.unit.measure.bench.tools import Tools

SAMPLES = Path(__file__).parent / "samples"


NFS = "10.0.0.1:/srv/pool/data {where} nfs4 rw,vers=4.2,proto=tcp,nconnect=8 0 0\n"


Measure = Callable[..., int]


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mounted share of a client whose fio says what was recorded; the server's state is beside it."""
    monkeypatch.setattr(paths, "ROOT", tmp_path / "server")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    seen = f"cat $2 >> {tmp_path}/jobs; ls -A {tmp_path}/share/.mill*/* >> {tmp_path}/seen"
    tool(tmp_path / "bin", "fio", f"{seen}; cat {SAMPLES}/status-interval.json")
    (tmp_path / "share").mkdir()
    return tmp_path / "share"


@pytest.fixture
def measure(share: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """Measure in the share with a program for these profiles; its exit status."""

    def run(profiles: list[str], where: Path = share, table: str = NFS, **more: Any) -> int:
        program = share.parent / "millrace-bench.pyz"
        program.write_bytes(bundle(request(profiles=profiles, size=64 << 20, seconds=1, repeats=2, **more), site()))
        monkeypatch.setattr(sys, "argv", [str(program), str(where)])
        real = by_hand.mounted
        monkeypatch.setattr(by_hand, "mounted", lambda directory, _: real(directory, table.format(where=share)))
        return by_hand.measure(str(where), str(share.parent / "result.json"), FACTS)

    return run


def taken(share: Path) -> BenchRun:
    return import_result.take(share.parent / "result.json", site(), Tools())


def test_a_file_is_brought_back_and_shown_as_a_run(
    share: Path, measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(["mixed"]) == 0
    assert "millrace bench clients take" in capsys.readouterr().out
    made = taken(share)
    (rung,) = made.rungs
    assert (rung.id, rung.state) == ("L3/nfs-tcp/mixed/mixed", BenchState.DONE)
    assert len(rung.series[0].values) == 2
    assert rung.latencies and rung.diagnosis
    assert made.reason is not None and made.reason.startswith("measured by hand on gpu1 (10.0.0.1:/srv/pool/data)")
    assert results.load("latest") == made
    assert [(results.directory(made.id) / name).exists() for name in rung.raw] == [True, True]


def test_the_workload_is_the_same_as_in_the_ladder(share: Path, measure: Measure) -> None:
    from tests.unit.measure.bench.rungs import waiting

    measure(["mixed"])
    assert taken(share).rungs[0].workload.sha256 == waiting("L1/xfs/mixed/mixed").workload.sha256


def test_it_works_in_a_directory_of_its_own_and_removes_it(share: Path, measure: Measure) -> None:
    (share / "mine").write_text("somebody's")
    assert measure(["seq", "meta"]) == 0
    assert os.listdir(share) == ["mine"]
    jobs = (share.parent / "jobs").read_text()
    assert f"directory={share}/{by_hand.PREFIX}" in jobs
    assert by_hand.PLACE not in jobs
    # a job may say what is to be executed, and others write in the share
    assert "job.fio" not in (share.parent / "seen").read_text()


def test_a_link_in_the_place_of_the_result_is_replaced(share: Path, measure: Measure) -> None:
    for name in ("result.json", "result.json.part"):
        (share.parent / name).symlink_to(share.parent / "precious")
    (share.parent / "precious").write_text("somebody's")
    assert measure(["mixed"]) == 0
    assert (share.parent / "precious").read_text() == "somebody's"
    assert taken(share).rungs


def test_a_load_of_its_own_runs_from_the_same_file(share: Path, measure: Measure) -> None:
    assert measure(["kvcache"]) == 0
    rung, *_ = taken(share).rungs
    assert (rung.id, rung.find("bandwidth", "write") is not None) == ("L3/nfs-tcp/kvcache/stress", True)


def test_over_smb_it_is_called_so(share: Path, measure: Measure) -> None:
    assert measure(["fsync"], table="//server/data {where} cifs rw,vers=3.1.1 0 0\n") == 0
    assert taken(share).rungs[0].id == "L3/smb/fsync/fsync"


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("/dev/sda1 / ext4 rw 0 0\n", "is not in a share of a server: mount one"),
        ("/dev/sda1 / ext4 rw 0 0\nserver:/x {where}x nfs4 rw 0 0\n", "is not in a share of a server"),
    ],
)
def test_a_local_directory_is_refused(
    share: Path, measure: Measure, capsys: pytest.CaptureFixture[str], table: str, sentence: str
) -> None:
    assert measure(["seq"], table=table) == 1
    assert sentence in capsys.readouterr().err
    assert os.listdir(share) == [] and not (share.parent / "result.json").exists()


def test_more_than_is_free_is_refused(
    share: Path, measure: Measure, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(by_hand, "ROOM", 1e12)
    assert measure(["seq"]) == 1
    assert "make the program for less (`millrace client bench --size`)" in capsys.readouterr().err
    assert os.listdir(share) == []


def test_a_workload_that_fails_does_not_hide_the_others(share: Path, measure: Measure) -> None:
    script = f"grep -q fsync=1 && {{ echo 'fio: no space' >&2; exit 1; }}; cat {SAMPLES}/status-interval.json"
    tool(share.parent / "bin", "fio", script)
    assert measure(["mixed", "fsync"]) == 1
    found = {rung.id: (rung.state, rung.reason) for rung in taken(share).rungs}
    assert found["L3/nfs-tcp/mixed/mixed"] == (BenchState.DONE, None)
    assert found["L3/nfs-tcp/fsync/fsync"] == (BenchState.FAILED, "fsync/fsync: fio: no space")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda said: said["rungs"][0].update(id="seq/format"),
        lambda said: said["rungs"][0].update(raw=[]),
        lambda said: said["rungs"][0].update(raw=[{"jobs": [{"jobname": "x", "read": {"total_ios": 5}}]}]),
        lambda said: said["rungs"][0].update(raw=[{"jobs": [{"jobname": "x", "error": 28}]}]),
        lambda said: said["mount"].update(target="L3/../../etc"),
        lambda said: said["facts"].update(program=99),
        lambda said: said.update(rungs=[]),
        lambda said: said.update(started=1e300),
        lambda said: said.update(ended=float("nan")),
        lambda said: said["facts"].update(host="\x1b]0;x"),
        lambda said: said["rungs"][0].update(size=1 << 70),
        lambda said: said["rungs"][0]["raw"][0]["jobs"][0]["read"].update(runtime=float("inf")),
        lambda said: said["rungs"][0]["raw"][0]["jobs"][0]["read"].update(total_ios=10**300),
    ],
)
def test_what_is_not_a_result_is_refused_and_nothing_kept(
    share: Path, measure: Measure, spoil: Callable[[dict[str, Any]], None]
) -> None:
    measure(["mixed"])
    file = share.parent / "result.json"
    said = json.loads(file.read_text())
    spoil(said)
    file.write_text(json.dumps(said))
    with pytest.raises(BadInput):
        taken(share)
    assert results.ids() == [] and not results.home().exists()


def test_a_file_that_is_not_there_or_no_json_is_one_sentence(share: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        taken(share)
    for text in ("<html>", "[" * 100_000, "\0", "[]"):
        (share.parent / "result.json").write_text(text)
        with pytest.raises(BadInput, match="is not what the program of `millrace client bench` writes"):
            taken(share)


def test_a_file_without_an_end_is_not_read_to_it(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_result, "LARGEST", 1000)
    (share.parent / "result.json").symlink_to("/dev/zero")
    with pytest.raises(BadInput, match="is too large for the result of a benchmark"):
        taken(share)


def test_words_of_a_client_are_kept_as_text(share: Path, measure: Measure) -> None:
    measure(["mixed"])
    file = share.parent / "result.json"
    said = json.loads(file.read_text())
    said["mount"]["source"] = "\x1b[2Jserver:/x"
    file.write_text(json.dumps(said))
    made = taken(share)
    assert made.reason is not None and made.reason.isprintable()
