# SPDX-License-Identifier: Apache-2.0
"""A result that a table does not know is new; those of the tree are well formed, and the page is made of them."""

from pathlib import Path

import pytest

from host.soak_rows import FAILED, PASSED, SKIPPED
from host.suites import page, table
from host.suites.table import Known, Table
from millrace.system.errors import Failed

TEXT = """
[suite]
title = "A suite"
from = "somewhere"

[[known]]
why = "It is refused."
kind = "design"
where = ["mixed"]
tests = ["smb2.lease.*", "smb2.lock.one"]

[[known]]
why = "It asks for something else."
kind = "suite"
ends = "skipped"
tests = ["smb2.ea"]

[left-out.all]
bench = "It measures."

[left-out.home]
"dir*" = "It is slow."
"""


@pytest.fixture
def read(tmp_path: Path) -> Table:
    (tmp_path / "suite.toml").write_text(TEXT)
    return table.load("suite", tmp_path)


def test_test_that_succeeds_is_not_new(read: Table) -> None:
    assert read.new("mixed", {"smb2.lease.a": PASSED, "smb2.other": PASSED}) == []


def test_failure_is_known_at_its_place_only(read: Table) -> None:
    results = {"smb2.lease.a": FAILED, "smb2.lock.one": FAILED, "smb2.lock.two": FAILED}
    assert read.new("mixed", results) == ["smb2.lock.two: failed"]
    assert read.new("home", results) == ["smb2.lease.a: failed", "smb2.lock.one: failed", "smb2.lock.two: failed"]


def test_known_failure_that_is_skipped_is_new_and_the_other_way_round(read: Table) -> None:
    assert read.new("mixed", {"smb2.lease.a": SKIPPED, "smb2.ea": FAILED}) == [
        "smb2.lease.a: skipped",
        "smb2.ea: failed",
    ]
    assert read.new("home", {"smb2.ea": SKIPPED}) == []


def test_group_is_left_out_everywhere_or_at_one_place(read: Table) -> None:
    groups = ("bench", "dir", "dirlease", "lock")
    assert read.not_run("mixed", groups) == {"bench": "It measures."}
    assert read.not_run("home", groups) == dict.fromkeys(("dir", "dirlease"), "It is slow.") | {"bench": "It measures."}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kind = "design"', 'kind = "bad luck"'),
        ('ends = "skipped"', 'ends = "passed"'),
        ('why = "It is refused."', 'why = ""'),
        ('why = "It is refused."', 'reason = "It is refused."'),
        ('tests = ["smb2.ea"]', 'tests = "smb2.ea"'),
        ('where = ["mixed"]', 'where = "mixed"'),
        ('title = "A suite"', ""),
        ('from = "somewhere"', 'from = "somewhere"\nof = "x"'),
        ("[left-out.all]", "[left_out.all]"),
    ],
)
def test_table_of_another_form_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in TEXT
    (tmp_path / "suite.toml").write_text(TEXT.replace(old, new))
    with pytest.raises(Failed, match=r"^suite\.toml "):
        table.load("suite", tmp_path)


def test_tables_of_the_tree_are_read_and_name_no_test_twice() -> None:
    assert table.names() == ["pjdfstest", "pynfs", "smbtorture"]
    for name in table.names():
        known = table.load(name).known
        named = [(where, test, entry.ends) for entry in known for where in entry.where for test in entry.tests]
        assert sorted(set(named)) == sorted(named), name


def test_page_of_the_tree_is_that_of_the_tables() -> None:
    made = page.page({name: table.load(name) for name in table.names()})
    assert made == page.PAGE.read_text(), "tools/docs --write writes it"


def test_page_has_each_reason_with_its_tests_and_places(read: Table) -> None:
    made = page.page({"suite": read}).splitlines()
    assert "| `smb2.lease.*`, `smb2.lock.one` | mixed | design | It is refused. |" in made
    assert "| `smb2.ea` | everywhere | suite | It asks for something else. |" in made
    assert "| `dir*` | home | It is slow. |" in made
    assert Known("w", "suite", ("t",)).where == ("*",)
