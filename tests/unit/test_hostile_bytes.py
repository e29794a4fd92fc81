# SPDX-License-Identifier: Apache-2.0
"""Each kept input of tests/fuzz holds its contract: one that once broke it, and one of each kind."""

import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.system.errors import BadInput, MillraceError
from tests.fuzz import contract

INPUTS = [path for name in contract.targets() for path in contract.inputs(name)]
LARGEST = 16 << 10
"""Bytes of a kept input: the longest that `tools/test fuzz` makes."""
HOSTILE = (b"", b"\0" * 600, b"{}", b"[" * 3000, b"\xff" * 64, "²\u202e\n".encode() * 20)


def too_long(*arguments: object) -> None:
    raise TimeoutError(f"no result in {contract.SECONDS} s")


@contextmanager
def bounds() -> Iterator[None]:
    """Fail where an input takes more time or memory than one may."""
    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(contract.SECONDS)
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < contract.MEMORY
    finally:
        tracemalloc.stop()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_kept_input_holds_the_contract(path: Path) -> None:
    check, broken = contract.load(path.parent.name), None
    with bounds():
        try:
            contract.hold(check, path.read_bytes())
        except Exception as error:  # what a person would see as a traceback
            broken = error
    assert broken is None


@pytest.mark.parametrize("name", contract.targets())
def test_target_holds_for_what_is_hostile_to_any_parser(name: str) -> None:
    check, broken = contract.load(name), {}
    for data in HOSTILE:
        with bounds():
            try:
                contract.hold(check, data)
            except Exception as error:
                broken[data[:20]] = error
    assert broken == {}


def test_every_target_has_a_small_corpus_and_every_corpus_a_target() -> None:
    assert all((REPO / f"tests/fuzz/{name}.py").is_file() for name in contract.targets())
    assert {path.parent.name for path in INPUTS} == set(contract.targets())
    assert [path.name for path in INPUTS if path.stat().st_size > LARGEST] == []
    assert len(INPUTS) < 200


def test_own_error_holds_the_contract_and_any_other_breaks_it() -> None:
    def fail(error: Exception) -> contract.Check:
        def check(data: bytes) -> None:
            raise error

        return check

    for own in (BadInput("it is damaged"), MillraceError("it fails")):
        contract.hold(fail(own), b"")
    with pytest.raises(ValueError, match="bug"):
        contract.hold(fail(ValueError("bug")), b"")
