# SPDX-License-Identifier: Apache-2.0
"""A line opens once, in its place, for who knows the token."""

from typing import Any

import pytest

from millrace_client import sealed
from millrace_client.sealed import Seal, Unsealed
from tests.unit.measure.bench.remotes import TOKEN

OTHER = "zzzz-zzzz-zzzz-zzzz-zzzz"


A, B = "a" * 32, "b" * 32


def test_every_token_is_new_and_taken_as_it_is_typed() -> None:
    made = {sealed.new_token() for _ in range(100)}
    assert len(made) == 100
    one = made.pop()
    assert sealed.plain_token(f" {one.upper()}\n") == sealed.plain_token(one.replace("-", ""))


def test_a_line_opens_once_in_its_place_for_the_same_token_and_direction() -> None:
    def pair(**other: Any) -> tuple[Seal, Seal]:
        said = {"token": TOKEN, "server": A, "client": B, "sender": sealed.SERVER}
        return Seal(**said), Seal(**{**said, **other})  # type: ignore[arg-type]

    mine, theirs = pair()
    first, second = mine.close(b"{}"), mine.close(b"{}")
    assert theirs.open(first) == b"{}"
    for wrong in (first, second.replace(b"{}", b"[]"), b"", b"{}", second[:-3]):
        with pytest.raises(Unsealed):
            pair()[1].open(wrong) if wrong is not first else theirs.open(wrong)
    for other in ({"token": OTHER}, {"server": B}, {"client": A}, {"sender": sealed.CLIENT}):
        mine, theirs = pair(**other)
        with pytest.raises(Unsealed):
            theirs.open(mine.close(b"{}"))
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        Seal(TOKEN, A, "x", sealed.SERVER)
