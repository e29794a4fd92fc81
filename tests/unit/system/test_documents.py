# SPDX-License-Identifier: Apache-2.0
"""Models whose schemas are built at their first use, also by several threads at once."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from pydantic import BaseModel, create_model

from millrace.plan.policy.model import Section
from millrace.serve.config.model import DesiredModel
from millrace.system.documents import Contract

THREADS = 16


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("base", [Contract, Section, DesiredModel])
def test_model_is_built_at_its_first_use(base: type[BaseModel]) -> None:
    model = create_model("Unused", __base__=base, number=(int, ...))
    assert not model.__pydantic_complete__
    assert model(number=1).model_dump() == {"number": 1}
    assert model.__pydantic_complete__


@pytest.mark.usefixtures("impatient")
def test_threads_that_use_a_model_first_at_the_same_time_find_it_built() -> None:
    """Drives are examined by several threads, which make documents of the same models."""
    together = Barrier(THREADS)

    def use(model: type[BaseModel]) -> str:
        together.wait()
        return model.model_validate({"speed": 1}).model_dump_json()

    with ThreadPoolExecutor(THREADS) as pool:
        # without a lock one in 44 failed
        for number in range(500):
            model = create_model(f"Model{number}", __base__=Contract, speed=(int | None, None))
            assert set(pool.map(use, [model] * THREADS)) == {'{"speed":1}'}


def test_model_that_names_one_of_its_own_function_is_built() -> None:
    """The frame in which pydantic looks for names is that of the caller, not one of ours."""

    class Inner(Contract):
        number: int

    class Outer(Contract):
        inner: "Inner"

    assert Outer.model_validate({"inner": {"number": 3}}).inner.number == 3
