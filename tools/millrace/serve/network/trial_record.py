# SPDX-License-Identifier: Apache-2.0
"""The record of the last change of this boot: whether it waits for its confirmation, and how it ended."""

import time
from collections.abc import Callable
from pathlib import Path

from millrace.serve.config.model import Config
from millrace.serve.network.model import NetworkPart, NetworkTrial, TrialReport, TrialState
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput


def trial_file() -> Path:
    """The last change of this boot."""
    return paths.run_dir() / "network-trial.json"


def last() -> NetworkTrial | None:
    """Return the last change of this boot; None where there was none, or it cannot be read."""
    try:
        return read_model(trial_file(), NetworkTrial)
    except (BadInput, OSError, UnicodeDecodeError):
        return None


def write(trial: NetworkTrial) -> None:
    """Record a change, or what came of it."""
    write_model(trial_file(), trial)


def end(trial: NetworkTrial, state: TrialState, problem: str | None = None) -> None:
    """Record how a change ended."""
    write(trial.model_copy(update={"state": state, "problem": problem}))


def report(now: Callable[[], float] = time.monotonic) -> TrialReport | None:
    """Return the last change, for the user."""
    found = last()
    if found is None:
        return None
    left = max(round(found.deadline - now()), 0) if found.state == "waiting" else 0
    values = found.model_dump(include={"who", "what", "state", "problem", "verified", "warnings"})
    return TrialReport(seconds=left, **values)


def is_open(found: NetworkTrial | None) -> bool:
    """Whether a change is being applied, or waits for its confirmation."""
    return found is not None and found.state in ("applying", "waiting")


def in_force(config: Config) -> Config:
    """Return the desired state, with the change that waits for its confirmation where there is one."""
    found = last()
    return with_part(config, found.part) if found is not None and is_open(found) else config


def part_of(config: Config) -> NetworkPart:
    """Return what a change of the network may change."""
    return NetworkPart(ports=config.ports, management=config.management, network=config.network)


def with_part(config: Config, part: NetworkPart) -> Config:
    """Return a state with another network."""
    return config.model_copy(update={"ports": part.ports, "management": part.management, "network": part.network})
