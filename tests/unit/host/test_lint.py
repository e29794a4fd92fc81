# SPDX-License-Identifier: Apache-2.0
"""`tools/lint` runs each check, and fails where one finds something."""

import pytest

from host import lint, test
from host.junit import Count
from host.minutes import Minutes


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, ...]]:
    """Two checks: one that finds nothing, one that ends with another status."""
    found = {"quiet": ("this",), "loud": ("host.no_such_module",)}
    monkeypatch.setattr(lint, "CHECKS", found)
    return found


def test_one_check_that_finds_something_fails_the_run(
    checks: dict[str, tuple[str, ...]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert lint.main([]) == 1
    assert capfd.readouterr().out.splitlines()[-1] == "failed: loud"
    assert lint.main(["quiet"]) == 0
    assert lint.main(["loud", "quiet"]) == 1


def test_check_that_there_is_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        lint.main(["style"])
    assert ended.value.code == 2
    assert "no check 'style', only ruff, format," in capsys.readouterr().err


def test_fast_part_of_the_tests_begins_with_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def passes(argv: tuple[str, ...]) -> bool:
        ran.append(argv[0])
        return argv[0] != "host.systemd"

    monkeypatch.setattr(lint, "passes", passes)
    monkeypatch.setattr(test, "tested", lambda step, spent: Count(passed=5))
    assert test.run_step(test.Step("unit", ()), {}, Minutes()) == Count(passed=10, failed=1)
    assert ran == ["ruff", "ruff", "mypy", "host.spelling", "host.shell", "host.systemd"]
