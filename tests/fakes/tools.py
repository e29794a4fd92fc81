# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the tools of the system, below `millrace.system.run`: also for what a verb calls by itself."""

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.system import run
from millrace.system.run import Runner


def started_by(runner: Runner) -> SimpleNamespace:
    """What `millrace.system.run` takes for the module subprocess: each tool that it starts answers as `runner` says."""

    def start(argv: list[str], **options: Any) -> "subprocess.CompletedProcess[str]":
        result = runner(argv, options["input"] or None)
        return subprocess.CompletedProcess(argv, result.status, result.out, result.err)

    return SimpleNamespace(run=start, TimeoutExpired=subprocess.TimeoutExpired)


def stand_in(monkeypatch: pytest.MonkeyPatch, runner: Runner) -> None:
    """Let `runner` answer for every tool that `millrace.system.run` would start."""
    monkeypatch.setattr(run, "subprocess", started_by(runner))
