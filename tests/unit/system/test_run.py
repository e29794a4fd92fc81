# SPDX-License-Identifier: Apache-2.0
"""Tools are run one way: with a limit, in one language, and with one sentence when they fail."""

import pytest

from millrace.system.errors import Failed
from millrace.system.run import Result, attempt, follow, last_words, must, within


def test_output_status_and_input_are_passed_on() -> None:
    assert attempt(["cat"], "secret") == Result(0, "secret", "")
    assert attempt(["sh", "-c", "echo no >&2; exit 3"]) == Result(3, "", "no\n")


def test_a_tool_never_waits_for_a_terminal() -> None:
    assert attempt(["cat"]) == Result(0, "", "")


def test_a_missing_tool_is_status_127() -> None:
    assert attempt(["millrace-has-no-such-tool"]) == Result(127, "", "millrace-has-no-such-tool is not installed")


def test_lines_of_a_tool_that_takes_long_are_passed_on_in_their_order() -> None:
    lines: list[str] = []
    script = "echo 0; echo 1 >&2; echo 2; exit 4"
    assert follow(["sh", "-c", script], lines.append) == Result(4, "0\n1\n2\n", "")
    assert lines == ["0", "1", "2"]


def test_lines_of_progress_are_passed_on_and_not_kept() -> None:
    lines: list[str] = []
    done = follow(["sh", "-c", "echo progress; echo result"], lines.append, lambda text: text != "progress\n")
    assert (lines, done.out) == (["progress", "result"], "result\n")


def test_a_missing_tool_that_would_take_long_is_status_127() -> None:
    assert follow(["millrace-has-no-such-tool"], print) == Result(127, "", "millrace-has-no-such-tool is not installed")


def test_a_tool_that_outlives_its_limit_is_status_124() -> None:
    assert within(0.05)(["sleep", "60"]) == Result(124, "", "sleep did not finish in 0.05 s")


def test_tools_speak_english_whatever_the_user_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert attempt(["sh", "-c", "echo $LC_ALL"]).out == "C.UTF-8\n"


def test_output_that_is_not_text_is_readable_all_the_same() -> None:
    assert attempt(["printf", r"\377"]).out == "\ufffd"


HINT = "       dmesg(1) may have more information after failed mount system call."


@pytest.mark.parametrize(
    ("out", "err", "words"),
    [
        ("", "first\nlast.\n", "last"),
        ("only out\n", "", "only out"),
        ("out", "err", "err"),
        ("", "", "no message"),
        ("", f"mount: /mnt: mount(2) failed: Refused.\n{HINT}\n", "mount: /mnt: mount(2) failed: Refused"),
        ("", HINT, HINT.strip().rstrip(".")),
    ],
)
def test_the_last_line_is_what_a_sentence_ends_with(out: str, err: str, words: str) -> None:
    assert last_words(Result(1, out, err)) == words


def test_a_tool_that_must_succeed_fails_in_one_sentence() -> None:
    assert must(attempt, ["echo", "yes"]) == "yes\n"
    with pytest.raises(Failed) as error:
        must(lambda argv, stdin=None: Result(2, "", "usage\nno such array\n"), ["mdadm", "--stop", "/dev/md1", "-q"])
    assert str(error.value) == "mdadm --stop /dev/md1 failed with status 2: no such array"
