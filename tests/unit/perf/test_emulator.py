# SPDX-License-Identifier: Apache-2.0
"""The image's own kernel and /usr run the job; a result is reused only for the same image and job."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from host.perf import benchmarks, emulator, results
from host.perf.__main__ import main
from host.perf.guest import missing, shell
from millrace.system.errors import BadInput, Failed
from vm import bare

IMAGE = emulator.Image(Path("image.efi"), Path("usr.raw"), "system", "qemu")
JOB = benchmarks.job("log")


def argv() -> list[str]:
    return emulator.command("qemu", *(Path(name) for name in ("kernel", "initrd", "usr", "console", "results")), 4096)


def test_the_clock_counts_instructions_of_one_processor() -> None:
    line = " ".join(argv())
    assert "-icount shift=0,sleep=off" in line
    assert "-smp 1" in line
    assert f"-seed {emulator.SEED}" in line
    # throttling of the host's block layer runs on the host's clock
    assert "throttl" not in line


def test_usr_is_read_only() -> None:
    assert any("readonly=on" in word and "file=usr" in word for word in argv())


def test_the_guest_gets_all_of_its_program() -> None:
    files = emulator.files(JOB)
    assert {"job.json", "host/perf/guest/__main__.py", "host/perf/guest/log.py", "host/perf/__init__.py"} <= set(files)
    # the host's side stays on the host
    assert "host/perf/setups.py" not in files


def test_another_image_or_job_is_another_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    version = subprocess.CompletedProcess([], 0, stdout="QEMU 1")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: version)
    keys = {
        emulator.key(IMAGE, JOB),
        emulator.key(replace(IMAGE, system="another"), JOB),
        emulator.key(IMAGE, replace(JOB, boot=2)),
        emulator.key(IMAGE, replace(JOB, drives={})),
    }
    assert len(keys) == 4
    version.stdout = "QEMU 2"
    assert emulator.key(IMAGE, JOB) not in keys


def test_records_end_with_done() -> None:
    said = '{"kernel": "7.2"}\n{"done": true}\n'
    assert emulator.records(said, "log: QEMU ended", "") == [{"kernel": "7.2"}]


@pytest.mark.parametrize("said", ["", '{"kernel": "7.2"}\n', '{"kernel": "7.2"}\n{"done": tr'])
def test_a_job_that_broke_off_is_no_result(said: str) -> None:
    with pytest.raises(Failed, match=r"(?s)no whole result.*Kernel panic"):
        emulator.records(said, "log: QEMU ended with 0", "x\nKernel panic")


def test_a_machine_that_hangs_is_ended_by_the_processor_time_it_burns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare.pe, "section", lambda *_: b"")
    monkeypatch.setattr(bare, "command", lambda *_: ["sh", "-c", "while :; do :; done"])
    with pytest.raises(Failed, match="log: it took more than 1 s of a processor and left no whole result"):
        emulator.run(IMAGE, JOB, seconds=1)


def test_the_guests_own_words_are_passed_on() -> None:
    with pytest.raises(Failed, match=r"mkfs\.xfs: no space"):
        emulator.records('{"failed": "RuntimeError: mkfs.xfs: no space"}\n', "log", "")


def test_what_this_image_cannot_measure_is_said_in_one_sentence() -> None:
    with pytest.raises(shell.NotMeasurable) as refused:
        missing.load("rebuilt")
    with pytest.raises(Failed) as failed:
        emulator.records(json.dumps({"refused": str(refused.value)}), "missing: QEMU ended with 0", "")
    assert str(failed.value).endswith("build it without --stock-modules.") and "QEMU" not in str(failed.value)


def test_a_result_is_kept_until_it_is_wanted_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    def run(_: emulator.Image, job: Any) -> list[dict[str, Any]]:
        runs.append(job.benchmark)
        return [{"kernel": "7.2"}]

    monkeypatch.setattr(emulator, "run", run)
    monkeypatch.setattr(emulator, "key", lambda *_: "key")
    for fresh, expected in ((False, 1), (False, 1), (True, 2)):
        assert results.kept(tmp_path, IMAGE, JOB, fresh).kernel == "7.2"
        assert len(runs) == expected


def test_a_result_that_was_cut_short_is_measured_again_by_hand(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot be understood"):
        results.result("log", [{"kernel": "7.2"}, json.loads('{"test": "x"}')])


@pytest.mark.parametrize(
    ("gib", "memory", "expected"), [(2, 4096, 1), (8, 4096, 1), (12, 4096, 2), (12, 10240, 1), (64, 10240, 2)]
)
def test_a_small_host_runs_one_machine_at_a_time(gib: int, memory: int, expected: int) -> None:
    assert results.machines(f"MemTotal: 1 kB\nMemAvailable:   {gib << 20} kB\n", memory) == expected


def test_an_unknown_benchmark_is_one_sentence_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"There is no benchmark 'warp'; known are: log, stripe") as caught:
        main(["warp"])
    assert caught.value.exit_code == 2


def test_the_control_is_not_asked_for_by_name() -> None:
    with pytest.raises(BadInput, match="no benchmark 'control'"):
        main(["control"])


def test_missing_image_names_the_build(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="run tools/build first") as caught:
        emulator.built(tmp_path)
    assert caught.value.exit_code == 2
