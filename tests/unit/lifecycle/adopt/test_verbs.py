# SPDX-License-Identifier: Apache-2.0
"""`pool find` records what it found, for status, banner and web console; `pool adopt` and the next boot go on."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.lifecycle.adopt import adopt_paths, verbs
from millrace.lifecycle.adopt.model import FoundHere, SearchResult
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused
from tests.fakes.samples import pool
from tests.unit.lifecycle.adopt.finder import FileSystem, Finder, kept_of

DATA = "00000001:1:1:1"


@pytest.fixture
def finder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Finder:
    made = Finder()
    made.wire(monkeypatch)
    monkeypatch.setattr("millrace.storage.array.machine.Linux", lambda: made)
    monkeypatch.setattr(verbs, "attempt", made)
    made.array("data", DATA, "raid1", ["a1", "b1"])
    made.file_systems[DATA] = FileSystem(pool().filesystem_uuid, None, kept_of({"data": DATA}))
    return made


def recorded() -> SearchResult:
    return read_model(adopt_paths.found_file(), SearchResult)


def test_find_replaces_what_the_boot_found(finder: Finder) -> None:
    write_model(
        adopt_paths.found_file(),
        SearchResult(pool=None, problem="drives of 2 pools are in this server", todo="take one out"),
    )
    said = CliRunner().invoke(verbs.find, [], catch_exceptions=False).stdout
    assert f"pool {pool().filesystem_uuid}" in said and "millrace pool adopt" in said
    assert recorded().problem is None and recorded().pool is not None


def test_anybody_sees_what_was_found_without_another_search(finder: Finder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    write_model(adopt_paths.found_file(), SearchResult(pool=None, problem="none", todo="see the plan"))
    shown = FoundHere.model_validate_json(
        CliRunner().invoke(verbs.found, ["--json"], catch_exceptions=False).stdout
    ).found
    assert shown is not None and shown.todo == "see the plan"
    assert finder.calls == []


def test_what_was_found_before_there_was_a_pool_is_not_shown(finder: Finder) -> None:
    write_model(adopt_paths.found_file(), SearchResult(pool=None, problem="none", todo="see the plan"))
    write_model(paths.pool_file(), pool())
    assert "see the plan" not in CliRunner().invoke(verbs.found, [], catch_exceptions=False).stdout


def test_adoption_that_is_refused_records_why(finder: Finder) -> None:
    finder.array("leg-7", "00000007:1:1:1", "raid5", ["x1", "y1", "z1"])
    with pytest.raises(Refused, match="array leg-7"):
        CliRunner().invoke(verbs.adopt, ["--yes"], catch_exceptions=False)
    assert "array leg-7" in (recorded().problem or "")
    assert not paths.adoption_file().exists()


def test_boot_without_a_credential_adopts_nothing(finder: Finder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert "no credential asks for one" in CliRunner().invoke(verbs.adopting, [], catch_exceptions=False).output
    assert finder.calls == []


def test_credential_that_names_no_pool_is_refused(
    finder: Finder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "millrace.adopt").write_text("the pool\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with pytest.raises(BadInput, match="named by the UUID of its file system"):
        CliRunner().invoke(verbs.adopting, [], catch_exceptions=False)


def test_credential_adopts_nothing_where_the_pool_is_adopted(
    finder: Finder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "millrace.adopt").write_text("auto\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    write_model(paths.pool_file(), pool())
    paths.adoption_file().write_text("{}")
    assert CliRunner().invoke(verbs.adopting, [], catch_exceptions=False).exit_code == 0
    assert not paths.adoption_file().exists() and finder.calls == []
