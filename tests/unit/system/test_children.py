# SPDX-License-Identifier: Apache-2.0
"""Functions in processes of their own: one that fails, hangs or dies takes nothing from the others."""

import os
import signal
import time

from millrace.errors import Failed
from millrace.system.children import run_all


def hanging() -> bytes:
    signal.pause()
    return b""


def dying() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def failing() -> bytes:
    raise Failed("smbd does not\nanswer")


def faulty() -> bytes:
    raise KeyError("x")


def test_each_has_its_own_outcome() -> None:
    large = b"+-x" * 1_000_000
    jobs = {"a": lambda: b"", "b": lambda: large, "c": failing, "d": faulty, "e": dying}
    found = run_all(jobs, 60)
    assert [found[name].found == wanted for name, wanted in (("a", b""), ("b", large), ("c", b""))] == [True] * 3
    assert {name: one.problem for name, one in found.items()} == {
        "a": None,
        "b": None,
        "c": "smbd does not\\nanswer",
        "d": "KeyError('x')",
        "e": "it ended with status -9",
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
