# SPDX-License-Identifier: Apache-2.0
"""What a wrong document is answered with names the key and what it takes, in no words of pydantic."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from millrace.plan.policy.model import Policy
from millrace.serve.config.model import Config, DesiredShare
from millrace.system.model_errors import problem, sentence

FOREIGN = re.compile(r"Input should|Field required|Value error|Extra inputs|valid dictionary|unable to|\{|pydantic")
WRONG: tuple[Any, ...] = ("x", "", -1, 0, 1.5, 10**30, 1e400, None, True, [], ["x"], [1], {}, {"x": 1}, object())
SHARE = {"name": "data", "type": "mixed", "project": 1001}


def errors(model: type[BaseModel], document: dict[str, Any]) -> Iterator[ValidationError]:
    """Each error that one wrong value in the document gives, at each place."""
    for key, field in model.model_fields.items():
        for wrong in WRONG:
            try:
                model.model_validate(document | {key: wrong})
            except ValidationError as error:
                yield error
        below = field.annotation
        if isinstance(below, type) and issubclass(below, BaseModel):
            for inner in below.model_fields:
                for wrong in WRONG:
                    try:
                        model.model_validate(document | {key: {inner: wrong}})
                    except ValidationError as error:
                        yield error


@pytest.mark.parametrize(("model", "document"), [(Policy, {}), (Config, {}), (DesiredShare, SHARE)])
def test_wrong_value_anywhere_is_answered_in_our_words(model: type[BaseModel], document: dict[str, Any]) -> None:
    answers = [text for error in errors(model, document) for text in (problem(error), sentence(error))]
    assert len(answers) > 100
    assert [text for text in answers if FOREIGN.search(text)] == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"layout": {"chunk_kib": 2}}, "layout.chunk_kib: must be at least 4"),
        ({"layout": {"chunk_kib": "64"}}, "layout.chunk_kib: must be a whole number"),
        ({"layout": {"chunk_kib": 96}}, "layout.chunk_kib: must be a power of two"),
        ({"layout": {"resilience": "triple"}}, "layout.resilience: must be 'single' or 'double'"),
        ({"nfs": {"networks": "10.0.0.0/8"}}, "nfs.networks: must be a list"),
        ({"nfs": {"privileged_ports": "yes"}}, "nfs.privileged_ports: must be true or false"),
        ({"md": 3}, "md: must be a table of keys"),
        ({"mdraid": {}}, "mdraid: unknown key"),
    ],
)
def test_answer_has_the_key_and_what_it_takes(document: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Policy.model_validate(document)
    assert problem(refused.value) == words


def test_access_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(ValidationError) as refused:
        DesiredShare.model_validate(SHARE | {"nfs": {"clients": [{"client": "h", "access": "wr"}]}})
    assert sentence(refused.value) == "nfs.clients.0.access: must be 'ro' or 'rw'"
