# SPDX-License-Identifier: Apache-2.0
"""`tools/test fuzz`: what libFuzzer is asked, what counts as broken, and the row of a run."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from host import fuzz
from host.fuzz import Run
from host.layout import Caches
from host.soak_rows import FAILED, PASSED
from host.stories import exists
from millrace.system.errors import Failed

STATS = "stat::number_of_executed_units: 4321\n"


class Libfuzzer:
    """Ends as it is told, with the file of an input where one broke the contract."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, status: int = 0, said: str = STATS, broken: str = "") -> None:
        self.status, self.said, self.broken = status, said, broken
        self.argv: list[str] = []
        self.path = ""
        monkeypatch.setattr(subprocess, "run", self)

    def __call__(self, argv: list[str], **options: Any) -> "subprocess.CompletedProcess[str]":
        self.argv, self.path = argv, options["env"]["PYTHONPATH"]
        options["stdout"].write(self.said)
        if self.broken:
            (prefix,) = [word.partition("=")[2] for word in argv if word.startswith("-artifact_prefix=")]
            Path(f"{prefix}{self.broken}").write_bytes(b"x")
        return subprocess.CompletedProcess(argv, self.status)


def run(tmp_path: Path) -> Run:
    return fuzz.fuzz("gpt", Path("/packages"), Caches(tmp_path), 5000, 60)


def test_target_runs_nicely_from_the_kept_inputs_and_those_of_runs_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Libfuzzer(monkeypatch)
    assert (run(tmp_path).inputs, run(tmp_path).broken) == (4321, None)
    assert started.argv[:3] == ["nice", "-n", "15"] and {"-runs=5000", "-max_total_time=60"} <= {*started.argv}
    assert started.argv[-2:] == [str(tmp_path / "fuzz/gpt"), str(fuzz.CORPUS / "gpt")]
    assert started.path.split(os.pathsep)[-1] == "/packages" and (tmp_path / "fuzz/gpt").is_dir()


def test_input_that_breaks_the_contract_is_named_and_one_of_before_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Libfuzzer(monkeypatch, 77, broken="crash-1")
    assert run(tmp_path).broken == tmp_path / "fuzz/gpt-crash-1"
    Libfuzzer(monkeypatch)
    assert run(tmp_path).broken is None


@pytest.mark.parametrize(("status", "said"), [(1, STATS), (0, ""), (-14, "")])
def test_target_that_ends_otherwise_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    Libfuzzer(monkeypatch, status, said)
    with pytest.raises(Failed, match=r"^target gpt ended with status -?\d+, see .*gpt\.log$"):
        run(tmp_path)


def test_row_says_how_many_inputs_ran_and_is_of_a_file_that_exists() -> None:
    passed = fuzz.row(Run("gpt", 1234567, 2.04, None), "c0ffee0")
    assert (passed.result, passed.minutes, passed.note) == (PASSED, 2.0, "1,234,567 inputs")
    assert exists(passed.story) and fuzz.row(Run("gpt", 1, 1.0, Path("x")), "c0ffee0").result == FAILED


@pytest.mark.parametrize("arguments", [["nowhere"], ["gpt", "--runs", "0"], ["gpt", "--seconds", "-1"]])
def test_a_wrong_command_line_is_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        fuzz.main(arguments)
    assert ended.value.code == 2
    assert "tools/test fuzz" in capsys.readouterr().err
