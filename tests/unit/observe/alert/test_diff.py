# SPDX-License-Identifier: Apache-2.0
"""A problem begins once and ends once, whatever its sentence says meanwhile."""

from millrace.observe.alert.diff import difference, grouped
from millrace.observe.alert.model import Alert
from millrace.observe.health.model import Level
from tests.unit.observe.alert.samples import alert, finding, health, stamp


def keys(alerts: list[Alert]) -> list[str]:
    return [one.key for one in alerts]


def test_new_problem_opens_and_what_is_ok_does_not() -> None:
    found = difference([], health(finding(), finding(subject="log", level=Level.OK)))
    assert keys(found.opened) == ["arrays/data"] == keys(found.open)
    assert found.opened[0].since == stamp() and found.opened[0].todo == "Replace the drive."


def test_known_problem_is_not_news_and_keeps_when_it_began() -> None:
    before = difference([], health(finding())).open
    changed = finding().model_copy(update={"sentence": "rebuild at 12 %"})
    found = difference(before, health(changed, seconds=300))
    assert (found.opened, found.worse, found.closed) == ([], [], [])
    assert [(one.since, one.sentence) for one in found.open] == [(stamp(), "rebuild at 12 %")]


def test_worse_is_news_and_better_is_not() -> None:
    warned = difference([], health(finding())).open
    failed = difference(warned, health(finding(level=Level.FAIL)))
    assert keys(failed.worse) == ["arrays/data"] and not failed.opened
    assert difference(failed.open, health(finding())).worse == []


def test_end_is_news_when_the_next_check_finds_nothing_either() -> None:
    before = difference([], health(finding())).open
    first = difference(before, health(seconds=30))
    assert not first.closed and first.open[0].gone == stamp(30)
    # an event of md in between
    early = difference(first.open, health(seconds=33))
    assert not early.closed and early.open[0].gone == stamp(30)
    last = difference(early.open, health(seconds=60))
    assert keys(last.closed) == ["arrays/data"] and not last.open


def test_problem_that_comes_back_at_once_neither_ended_nor_began() -> None:
    before = difference([], health(finding())).open
    gone = difference(before, health(seconds=30)).open
    back = difference(gone, health(finding(), seconds=60))
    assert (back.opened, back.closed) == ([], [])
    assert back.open[0].gone is None and back.open[0].since == stamp()
    # and its absence is counted from the start again
    assert not difference(back.open, health(seconds=61)).closed


def test_while_the_server_starts_only_failures_begin_and_nothing_ends() -> None:
    failure = finding("filesystem", "", Level.FAIL)
    found = difference([alert("drives/S1", gone=stamp(-60))], health(finding("nfs", ""), failure, starting=True))
    assert keys(found.opened) == ["filesystem"]
    assert keys(found.open) == ["drives/S1", "filesystem"] and not found.closed


def test_nothing_of_a_check_ends_that_could_not_run() -> None:
    before = [alert("arrays/data", gone=stamp(-60)), alert("nfs", gone=stamp(-60))]
    found = difference(before, health(finding("arrays", "", Level.UNKNOWN, kind="not-run")))
    assert keys(found.closed) == ["nfs"]
    assert keys(found.open) == ["arrays/data", "arrays/not-run"]


def test_nothing_ends_while_health_is_not_checked() -> None:
    found = difference([alert(gone=stamp(-60))], health(finding("health", "", Level.FAIL, kind="stopped")))
    assert not found.closed and keys(found.opened) == ["health/stopped"]


def test_of_two_findings_with_one_key_the_worst_counts() -> None:
    found = difference([], health(finding(), finding(level=Level.FAIL)))
    assert [one.level for one in found.opened] == [Level.FAIL]


def test_few_are_reported_apart_and_a_shelf_in_one_message() -> None:
    three = [alert(f"drives/S{number}", Level.WARN) for number in range(3)]
    assert grouped(three) == [[one] for one in three]
    assert grouped([]) == []
    [together] = grouped([*three, alert()])
    assert len(together) == 4 and together[0].level is Level.FAIL


def test_problem_that_was_gone_when_the_clock_was_ahead_ends() -> None:
    before = difference([], health(finding())).open
    [gone] = difference(before, health(seconds=30)).open
    ahead = gone.model_copy(update={"gone": "2069-01-01T00:00:00+00:00"})
    assert keys(difference([ahead], health(seconds=60)).closed) == ["arrays/data"]
