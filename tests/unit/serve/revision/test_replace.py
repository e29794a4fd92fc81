# SPDX-License-Identifier: Apache-2.0
"""Rollback, export and import replace the desired state as one change; passwords are in it as hashes only."""

import json
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import JsonValue

from millrace.serve.account import edit
from millrace.serve.config import carried, store
from millrace.serve.revision import portable, replace
from millrace.serve.revision.verbs import config as config_verb
from millrace.serve.share.edit import create_shares
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result, Runner
from millrace.system.text import one_line
from tests.fakes.appliance import Appliance
from tests.fakes.tools import stand_in

NT = "0123456789ABCDEF" * 2
SHADOW = "$y$j9T$salt$hash/with.signs"


class Toys(carried.Carried):
    """What a room above keeps."""

    key = title = "toys"

    def __init__(self, kept: list[JsonValue]) -> None:
        self._kept = kept

    def exported(self) -> JsonValue:
        return ["ball"]

    def check(self, value: JsonValue) -> None:
        if not isinstance(value, list):
            raise BadInput("no toys")

    def take(self, value: JsonValue, run: Runner) -> list[str]:
        self._kept.append(value)
        return ["add the string"]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[JsonValue]:
    """What a room above has taken from a file."""
    taken: list[JsonValue] = []
    monkeypatch.setattr(carried, "_known", {})
    carried.register(Toys(taken))
    return taken


def names() -> list[str]:
    return [one.name for one in store.load().shares]


@pytest.fixture
def exported(appliance: Appliance, tmp_path: Path) -> Path:
    """A file of a box with the group ml, the user ann in it, and a share for it."""
    edit.create_group("ml", appliance)
    edit.create_user("ann", ["ml"], "s3cret-word-2", appliance)
    create_shares(["train"], {"smb_groups": ("ml",), "size": "1T"}, appliance.server)
    (tmp_path / "etc/shadow").write_text(f"root:*:1::::::\nann:{SHADOW}:2::::::\nadmin:$y$other:3::::::\n")
    lines = f"admin:1000:{'X' * 32}:{'F' * 32}:[U          ]:LCT-1:\nann:2001:{'X' * 32}:{NT}:[U          ]:LCT-1:\n"
    appliance.broken["pdbedit -s /dev/null -L -w"] = Result(0, lines, "")
    portable.export(store.load(), tmp_path / "moved.json", appliance)
    return tmp_path / "moved.json"


def forget(appliance: Appliance) -> None:
    """The box is installed anew: its pool stays, what it knew does not."""
    for path in (appliance.root / "var/lib/millrace").rglob("*.json"):
        if path.name not in ("pool.json", "plan.json"):
            path.unlink()
    appliance.accounts.reset({"passwd": {"admin": 1000}, "group": {}})
    appliance.smb_accounts = set()
    appliance.everlasting = set()
    appliance.nt_hashes = {}
    appliance.broken.clear()
    appliance.calls.clear()
    appliance.stdin.clear()


def tampered(exported: Path, **changes: Any) -> Path:
    exported.write_text(json.dumps(json.loads(exported.read_text()) | changes))
    return exported


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values in a document, the document's own among them."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, one in inner for path in _paths(one, (*at, key)))]


def _with(document: Any, path: tuple[Any, ...], shape: Any) -> Any:
    if not path:
        return shape
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = shape
    return document


class TestRollback:
    def test_a_state_of_before_is_served_again(self, appliance: Appliance) -> None:
        create_shares(["one"], {}, appliance.server)
        create_shares(["two"], {}, appliance.server)
        report = replace.rollback(1, appliance, appliance.server)
        assert names() == ["data", "one"] and report.serial == 3
        assert "/srv/pool/two" not in appliance.exported()
        assert (appliance.root / "srv/pool/two").is_dir()
        replace.rollback(2, appliance, appliance.server)
        assert names() == ["data", "one", "two"]

    def test_a_user_that_comes_back_has_no_password_and_that_is_said(self, appliance: Appliance) -> None:
        uid = edit.create_user("ann", [], "s3cret-word-2", appliance).uid
        edit.remove_user("ann", appliance)
        report = replace.rollback(1, appliance, appliance.server)
        assert report.without_password == ["ann"] and appliance.accounts["passwd"]["ann"] == uid

    def test_numbers_go_on(self, appliance: Appliance) -> None:
        create_shares(["one"], {}, appliance.server)
        create_shares(["two"], {}, appliance.server)
        replace.rollback(1, appliance, appliance.server)
        create_shares(["three"], {}, appliance.server)
        assert store.load().shares[-1].project == 1004

    def test_a_state_that_cannot_be_served_changes_nothing(self, appliance: Appliance) -> None:
        create_shares(["one"], {}, appliance.server)
        edit.create_user("ann", [], "s3cret-word-2", appliance)
        create_shares(["two"], {}, appliance.server)
        edit.remove_user("ann", appliance)
        appliance.broken["exportfs -s"] = Result(0, "/srv/pool/two  10.0.0.0/24(rw)\n", "")
        with pytest.raises(Refused, match="nothing was changed"):
            replace.rollback(2, appliance, appliance.server)
        assert names() == ["data", "one", "two"] and "ann" not in appliance.accounts["passwd"]

    @pytest.mark.parametrize("number", [2, 77])
    def test_a_change_that_is_not_kept(self, appliance: Appliance, number: int) -> None:
        create_shares(["one"], {}, appliance.server)
        with pytest.raises(Refused, match=rf"there is no change {number}; kept are 1 to 1"):
            replace.rollback(number, appliance, appliance.server)

    def test_history_is_for_people_and_programs(self, appliance: Appliance) -> None:
        create_shares(["one"], {}, appliance.server)
        said = CliRunner().invoke(config_verb, ["history"]).output
        assert "share create one" in said
        document = json.loads(CliRunner().invoke(config_verb, ["history", "--json"]).output)
        assert document["schema_version"] == 1 and document["changes"][0]["number"] == 1


class TestMoving:
    def test_an_export_holds_hashes_of_its_users_and_is_for_its_owner(self, exported: Path) -> None:
        document = json.loads(exported.read_text())
        assert document["shadow"] == {"ann": SHADOW} and document["nt"] == {"ann": NT}
        assert stat.S_IMODE(exported.stat().st_mode) == 0o600
        assert "s3cret-word-2" not in exported.read_text()

    def test_reinstalled_server_is_restored(self, appliance: Appliance, exported: Path) -> None:
        before = store.load()
        forget(appliance)
        report = replace.import_state(portable.read(exported), appliance, appliance.server)
        after = store.load()
        assert after.model_copy(update={"serial": before.serial}) == before
        assert appliance.accounts["passwd"]["ann"] == before.users[0].uid
        assert {"/srv/pool/data", "/srv/pool/train"} == set(appliance.exported())
        assert report.without_password == []
        assert appliance.everlasting == {"ann"}

    def test_import_shows_progress_to_people_only(
        self, appliance: Appliance, exported: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(replace, "import_state", partial(replace.import_state, server=appliance.server))
        stand_in(monkeypatch, appliance)
        forget(appliance)
        said = CliRunner().invoke(config_verb, ["import", str(exported)], catch_exceptions=False).output
        assert said.splitlines()[:2] == [
            "Comparing accounts (users: 1, groups: 1)",
            "Creating or changing shares (1)",
        ]
        said = CliRunner().invoke(config_verb, ["import", str(exported), "--json"], catch_exceptions=False).output
        assert json.loads(said)["without_password"] == []

    def test_hashes_are_never_on_a_command_line(self, appliance: Appliance, exported: Path) -> None:
        forget(appliance)
        seen: list[str] = []
        appliance.before["pdbedit -s /dev/null -i"] = lambda: seen.append(
            Path(appliance.calls[-1][-1].removeprefix("smbpasswd:")).read_text()
        )
        replace.import_state(portable.read(exported), appliance, appliance.server)
        assert not any(secret in word for secret in (SHADOW, NT) for call in appliance.calls for word in call)
        assert f"ann:{SHADOW}\n" in appliance.stdin
        [line] = seen
        assert line.startswith("ann:2001:XXXX") and f":{NT}:[U " in line
        assert not list((appliance.root / "run/millrace").glob("smbpasswd-*"))

    def test_passwords_that_are_not_taken_are_said(self, appliance: Appliance, exported: Path) -> None:
        forget(appliance)
        appliance.broken["pdbedit -s /dev/null -i"] = Result(1, "", "tdb is locked\n")
        with pytest.raises(Failed, match="imported, except the passwords"):
            replace.import_state(portable.read(exported), appliance, appliance.server)
        assert names() == ["data", "train"]

    def test_an_import_without_a_pool_waits_for_one(self, appliance: Appliance, exported: Path) -> None:
        forget(appliance)
        (appliance.root / "var/lib/millrace/pool.json").unlink()
        report = replace.import_state(portable.read(exported), appliance, appliance.server)
        assert names() == ["data", "train"] and "no pool yet" in report.warnings[0]

    def test_what_other_rooms_keep_moves_with_the_state(
        self, appliance: Appliance, exported: Path, kept: list[JsonValue]
    ) -> None:
        path = exported.parent / "again.json"
        portable.export(store.load(), path, appliance)
        assert json.loads(path.read_text())["carried"] == {"toys": ["ball"]}
        report = replace.import_state(portable.read(path), appliance, appliance.server)
        assert (kept, report.warnings) == ([["ball"]], ["add the string"])

    def test_a_file_of_before_leaves_what_other_rooms_keep(
        self, appliance: Appliance, exported: Path, kept: list[JsonValue]
    ) -> None:
        document = json.loads(exported.read_text())
        del document["carried"]
        exported.write_text(json.dumps(document))
        replace.import_state(portable.read(exported), appliance, appliance.server)
        assert kept == []

    @pytest.mark.parametrize(
        ("value", "words"), [({"trains": 1}, "'trains', which this release does not know"), ({"toys": 1}, "no toys")]
    )
    def test_what_other_rooms_do_not_take_is_refused_before_anything_changes(
        self, exported: Path, kept: list[JsonValue], value: dict[str, JsonValue], words: str
    ) -> None:
        with pytest.raises(BadInput, match=words):
            portable.read(tampered(exported, carried=value))
        assert kept == []

    def test_rest_that_cannot_be_set_is_said(
        self, appliance: Appliance, exported: Path, kept: list[JsonValue], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(self: object, value: JsonValue, run: Runner) -> list[str]:
            raise Failed("the box is shut")

        monkeypatch.setattr(Toys, "take", fail)
        with pytest.raises(Failed, match="imported, except the toys; import again: the box is shut"):
            replace.import_state(
                portable.read(tampered(exported, carried={"toys": ["x"]})), appliance, appliance.server
            )

    def test_another_schema_is_refused_by_its_number(self, exported: Path) -> None:
        with pytest.raises(Refused, match="was exported with schema 2, this release reads schema 1"):
            portable.read(tampered(exported, schema_version=2))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"kind": "other"}, "is not an exported configuration"),
            ({"shadow": {"ann": "$y$x:0:0\nroot::"}}, "shadow"),
            ({"shadow": {"root": "$y$x"}}, "has a password of root"),
            ({"nt": {"ann": "zz"}}, "nt"),
            ({"config": {"schema_version": 1, "shares": [{"name": "../etc"}]}}, "config.shares|cannot be the name"),
            ({"extra": 1}, "extra: unknown key"),
        ],
    )
    def test_a_file_that_was_tampered_with_is_refused(
        self, exported: Path, changes: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(BadInput, match=words) as error:
            portable.read(tampered(exported, **changes))
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b"null"])
    def test_a_file_that_is_something_else(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(BadInput, match=r"cannot be read|is not an exported configuration"):
            portable.read(tmp_path / "x")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("[" * 100_000, "is nested too deeply"),
            ('{"kind": "millrace-config", "config": ' + "[" * 100_000, "is nested too deeply"),
            ('{"kind": "millrace-config", "schema_version": 1, "config": "x"}', "is not an exported configuration"),
            ('{"kind": "millrace-config", "schema_version": [1], "config": {}}', r"exported with schema \[1\]"),
        ],
    )
    def test_a_file_of_another_shape_is_one_sentence(self, tmp_path: Path, content: str, words: str) -> None:
        (tmp_path / "x").write_text(content)
        with pytest.raises((BadInput, Refused), match=words) as error:
            portable.read(tmp_path / "x")
        assert one_line(str(error.value)) == str(error.value)

    def test_any_part_may_be_of_any_shape(self, exported: Path) -> None:
        """Each value of a good file is replaced in turn by each of the shapes."""
        good = json.loads(exported.read_text())
        shapes = [None, True, 0, -1, 1 << 80, 1e308, float("nan"), "", "x", "a\nb", "\ud800", [], [[]], {}, {"a\nb": 1}]
        tried = 0
        for path in _paths(good):
            for shape in shapes:
                document = json.loads(json.dumps(good))
                exported.write_text(json.dumps(_with(document, path, shape)))
                tried += 1
                with suppress(BadInput, Refused):
                    portable.read(exported)
        assert tried > 500

    def test_a_file_without_end_is_not_read_to_its_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(portable, "LARGEST", 1 << 20)
        (tmp_path / "x").write_text(" " * ((1 << 20) + 1))
        with pytest.raises(BadInput, match="it has more than 1 MiB"):
            portable.read(tmp_path / "x")

    def test_an_export_makes_no_directory(self, appliance: Appliance, tmp_path: Path) -> None:
        for target in (tmp_path / "nosuch/x.json", tmp_path / "nosuch/deeper/x.json"):
            with pytest.raises(Refused, match=r"directory .*nosuch.* does not exist; create it"):
                portable.export(store.load(), target, appliance)
        assert not (tmp_path / "nosuch").exists()

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="No such file"):
            portable.read(tmp_path / "x")

    def test_a_user_of_another_system_is_not_taken_over(self, appliance: Appliance, exported: Path) -> None:
        forget(appliance)
        appliance.accounts["passwd"]["ann"] = 1234
        with pytest.raises(Refused, match="ann is a system user"):
            replace.import_state(portable.read(exported), appliance, appliance.server)
        assert names() == ["data"] and not appliance.called("chpasswd")
