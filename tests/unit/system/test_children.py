# SPDX-License-Identifier: Apache-2.0
"""Functions in processes of their own: one that fails, hangs or dies takes nothing from the others."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping

import pytest

from millrace.system import import_cache
from millrace.system.children import ChildOutcome, Job, run_all, run_in_turn
from millrace.system.errors import Failed

Run = Callable[[Mapping[str, Job], float], dict[str, ChildOutcome]]


def hanging() -> bytes:
    signal.pause()
    return b""


def slowly() -> bytes:
    time.sleep(0.6)
    return str(os.getpid()).encode()


def dying() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def failing() -> bytes:
    raise Failed("smbd does not\nanswer")


def faulty() -> bytes:
    raise KeyError("x")


@pytest.mark.parametrize("run", [run_all, run_in_turn])
def test_each_has_its_own_outcome(run: Run) -> None:
    large = b"+-x" * 1_000_000
    jobs = {"a": lambda: b"", "b": lambda: large, "c": failing, "d": faulty, "e": dying, "f": lambda: b"last"}
    outcomes = run(jobs, 60)
    wanted = {"a": b"", "b": large, "c": b"", "f": b"last"}
    assert list(outcomes) == list(jobs)
    assert [outcomes[name].found == text for name, text in wanted.items()] == [True] * len(wanted)
    assert {name: outcome.problem for name, outcome in outcomes.items()} == {
        "a": None,
        "b": None,
        "c": "smbd does not\\nanswer",
        "d": "KeyError('x')",
        "e": "it ended with status -9",
        "f": None,
    }


def test_one_that_hangs_is_ended_at_the_deadline_and_the_others_took_less() -> None:
    began = time.monotonic()
    found = run_all({"a": hanging, "b": lambda: b"good"}, 0.5)
    assert 0.4 < time.monotonic() - began < 5
    assert (found["a"].problem, found["b"].found) == (f"no answer in {found['a'].seconds:.1f} s", b"good")
    assert found["b"].seconds < found["a"].seconds


def test_they_run_at_the_same_time() -> None:
    read, write = os.pipe()
    # each waits for the other
    jobs = {"a": lambda: os.read(read, 1), "b": lambda: bytes([os.write(write, b"x")])}
    assert {name: one.found for name, one in run_all(jobs, 10).items()} == {"a": b"x", "b": b"\x01"}


def pids(names: str, before: Mapping[str, Job]) -> dict[str, Job]:
    """Functions that return their process, behind others."""
    return {**before, **dict.fromkeys(names, lambda: str(os.getpid()).encode())}


def test_one_process_runs_them_in_turn() -> None:
    found = run_in_turn(pids("abc", {}), 60)
    assert len({one.found for one in found.values()}) == 1
    assert found["a"].found != str(os.getpid()).encode()


def test_those_behind_one_that_takes_long_go_on_without_it() -> None:
    """The slow one has its own outcome, whether it ends or not; its process runs nothing else."""
    slow = {"slow": slowly, "hangs": hanging}
    began = time.monotonic()
    found = run_in_turn(pids("abc", slow), 1.5, patience=0.2)
    assert 1.4 < time.monotonic() - began < 6
    assert found["hangs"].problem == f"no answer in {found['hangs'].seconds:.1f} s"
    assert [found[name].problem for name in ("slow", "a", "b", "c")] == [None] * 4
    assert len({found[name].found for name in "abc"}) == 1 and found["slow"].found != found["a"].found
    assert found["slow"].seconds > 0.5 > found["a"].seconds


def test_those_that_the_deadline_overtakes_have_no_answer() -> None:
    found = run_in_turn(pids("a", {"hangs": hanging}), 0.3)
    assert [one.problem is not None and one.problem.startswith("no answer in 0.") for one in found.values()] == [
        True
    ] * 2


def test_no_process_is_left() -> None:
    run_in_turn(pids("ab", {"slow": slowly, "dies": dying}), 5, patience=0.1)
    time.sleep(0.3)
    with pytest.raises(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def importing() -> bytes:
    import colorsys

    return colorsys.__name__.encode()


@pytest.mark.parametrize("run", [run_all, run_in_turn])
def test_what_a_child_had_to_import_is_known_here(run: Run) -> None:
    """A process that stays imports it for the next one: else each collection of metrics would begin with that."""
    sys.modules.pop("colorsys", None)
    before = import_cache.now()
    assert run({"a": lambda: b"", "b": importing}, 60)["b"].found == b"colorsys"
    assert "colorsys" not in sys.modules
    assert "colorsys" in import_cache.since(before)["modules"]
