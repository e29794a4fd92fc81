# SPDX-License-Identifier: Apache-2.0
"""The table of kinds against the units and the names."""

import re
from pathlib import Path
from typing import get_args

import pytest

from host.layout import REPO
from millrace.system.jobs.kinds import ALL, BY_NAME, JobKind, JobName
from tests.unit.boot.units import unit


def lines_of(kind: JobKind) -> list[str]:
    """The lines of its unit, of an instance with its name for `%i`."""
    instance = kind.unit.rpartition(".")[0].partition("@")[2]
    return file_of(kind).read_text().replace("%i", instance or "%i").splitlines()


def file_of(kind: JobKind) -> Path:
    """The file of its unit, of an instance that of the template."""
    return REPO / "units" / re.sub(r"@.+(?=\.)", "@", kind.unit)


ORDERED = [kind for kind in ALL if kind.sign is not None and "order" in kind.sign().name]


def test_each_name_is_a_kind_once() -> None:
    assert [kind.name for kind in ALL] == list(get_args(JobName))
    assert len(BY_NAME) == len({kind.unit for kind in ALL}) == len(ALL)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_unit_is_there_and_starts_again_after_a_kill_where_the_kind_says_so(kind: JobKind) -> None:
    text = file_of(kind).read_text()
    assert ("\nRestart=" in text) == kind.restarts


@pytest.mark.parametrize("kind", ORDERED, ids=lambda kind: kind.name)
def test_condition_of_the_unit_is_the_sign_that_one_may_run(kind: JobKind) -> None:
    assert kind.sign is not None
    sign = kind.sign()
    assert f"ConditionPathExists=/run/millrace/{sign.parent.name}/{sign.name}" in lines_of(kind)


# "yes" and "full" leave /run and /var writable
STRICT = [kind for kind in ALL if unit(kind.unit)["ProtectSystem"] == ["strict"]]


@pytest.mark.parametrize("kind", STRICT, ids=lambda kind: kind.name)
def test_unit_may_write_its_record_and_its_locks(kind: JobKind) -> None:
    words = [word for line in unit(kind.unit)["ReadWritePaths"] for word in line.split()]
    for path in ("/run/millrace/jobs", "/var/lib/millrace/jobs"):
        assert any(path.startswith(f"{word}/") for word in words), path
