# SPDX-License-Identifier: Apache-2.0
"""A message names the server, the problem and the remedy, and cannot be more than one line where it must be one."""

import json

from millrace.observe.alert import text
from millrace.observe.health.model import Level
from tests.unit.observe.alert.samples import alert, message, stamp


def test_beginning_names_server_problem_and_remedy() -> None:
    said = text.body(message(), "nas7")
    assert said.startswith("[nas7] FAIL: arrays data is FAIL.\n")
    assert "To do: Replace the drive." in said
    assert f"Since {stamp()} (arrays/data)" in said


def test_end_names_what_ended_without_a_remedy() -> None:
    said = text.body(message("closed"), "nas7")
    assert said.startswith("[nas7] Ended: arrays data is FAIL.\n")
    assert "To do" not in said and f"Since {stamp()}, ended {stamp()}" in said


def test_worse_says_so() -> None:
    assert text.subject(message("worse"), "nas7") == "[nas7] Worse: FAIL: arrays data is FAIL."


def test_many_are_counted_and_all_are_in_the_body() -> None:
    shelf = message("opened", *(alert(f"drives/S{number}") for number in range(12)))
    assert text.subject(shelf, "nas7") == "[nas7] 12 problems began, first: FAIL: drives S0 is FAIL."
    assert all(f"drives S{number} is FAIL." in text.body(shelf, "nas7") for number in range(12))


def test_what_others_wrote_adds_no_line_to_the_subject() -> None:
    odd = alert().model_copy(update={"sentence": "model x\r\nBcc: all@example.com\x1b[2J"})
    subject = text.subject(message("opened", odd), "nas7")
    assert "\n" not in subject and "\r" not in subject and "\x1b" not in subject
    # the subject, the problem, the remedy and since when
    assert len(text.body(message("opened", odd), "nas7").split("\n")) == 8


def test_program_gets_key_level_and_a_number_that_stays_the_same() -> None:
    said = json.loads(text.payload(message(), "nas7").model_dump_json())
    assert (said["event"], said["host"], said["schema_version"]) == ("opened", "nas7", 1)
    assert [(one["key"], one["level"], one["since"]) for one in said["alerts"]] == [
        ("arrays/data", Level.FAIL, stamp())
    ]
    assert said["id"] == text.payload(message(), "nas7").id == "7.202611220300000000@nas7"


def test_test_and_sign_of_life_say_what_they_are() -> None:
    assert text.subject(message("test"), "nas7") == "[nas7] Test: alerts of this server arrive here"
    daily = message("daily").model_copy(update={"note": "Daily sign of life: health is OK.", "alerts": []})
    assert text.subject(daily, "nas7") == "[nas7] Daily sign of life: health is OK."
