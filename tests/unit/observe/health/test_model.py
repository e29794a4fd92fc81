# SPDX-License-Identifier: Apache-2.0
"""A finding is known by its key, and since when."""

from millrace.observe.health.model import Health, HealthFinding, Level, continued


def finding(level: Level = Level.WARN, sentence: str = "degraded", **about: str) -> HealthFinding:
    return HealthFinding(check="arrays", level=level, sentence=sentence, **about)  # type: ignore[arg-type]


def health(at: str, *findings: HealthFinding) -> Health:
    return Health(at=at, level=Level.WARN, findings=list(findings))


def test_key_is_made_of_check_kind_and_subject() -> None:
    assert finding().key == "arrays"
    assert finding(subject="data").key == "arrays/data"
    assert finding(kind="mismatch", subject="data").key == "arrays/mismatch/data"


def test_key_stays_when_the_document_is_read_again() -> None:
    before = health("2026-11-22T03:00:00+00:00", finding(kind="mismatch", subject="data"))
    assert '"kind"' not in before.model_dump_json()
    [read] = Health.model_validate_json(before.model_dump_json()).findings
    assert (read.key, read.subject) == ("arrays/mismatch/data", "data")


def test_time_stays_while_the_sentence_changes_and_begins_again_after_the_end() -> None:
    first = continued(None, health("2026-11-22T03:00:00+00:00", finding(subject="data")))
    second = continued(first, health("2026-11-22T03:00:30+00:00", finding(sentence="rebuild", subject="data")))
    assert [one.since for one in second.findings] == ["2026-11-22T03:00:00+00:00"]
    well = continued(second, health("2026-11-22T03:01:00+00:00", finding(Level.OK, subject="data")))
    assert [one.since for one in well.findings] == [None]
    again = continued(well, health("2026-11-22T03:01:30+00:00", finding(subject="data")))
    assert [one.since for one in again.findings] == ["2026-11-22T03:01:30+00:00"]
