# SPDX-License-Identifier: Apache-2.0
"""A dry run shows the lines of a change, refuses what the change would refuse, and writes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from millrace.serve.config import store
from millrace.serve.share import edit
from millrace.serve.share.edit import creation, setting
from millrace.serve.share.verbs import share
from millrace.system.errors import BadInput, Refused
from tests.fakes.appliance import Appliance

WANTED: dict[str, Any] = {
    "type": "training",
    "size": "2T",
    "nfs_clients": ("10.0.0.0/24 access=ro", "@gpus"),
    "smb_users": ("admin",),
}


@pytest.fixture(autouse=True)
def context(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    appliance.answers_for(monkeypatch, "edit.preview", "edit.create_shares", "verify.verify")


def say(*words: str) -> Result:
    return CliRunner().invoke(share, list(words), catch_exceptions=False)


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


def test_what_is_shown_is_what_is_rendered_afterwards(appliance: Appliance) -> None:
    seen = edit.preview(["train"], creation(["train"], WANTED))
    edit.create_shares(["train"], WANTED)
    exports = (appliance.root / "etc/exports.d/millrace.exports").read_text().splitlines()
    configuration = (appliance.root / "etc/samba/smb.conf").read_text()
    assert len(seen.exports) == 1 and seen.exports[0] in exports
    assert seen.smb[0] == "[train]" and "\n".join(seen.smb) in configuration
    assert seen.share.size == 2 << 40


def test_a_side_that_is_off_shows_no_line() -> None:
    assert edit.preview(["a"], creation(["a"], {"nfs": False})).exports == []
    assert edit.preview(["a"], creation(["a"], {"smb": False})).smb == []


def test_nothing_is_written_and_no_tool_is_run(appliance: Appliance) -> None:
    before = files(appliance.root)
    say("create", "train", "--dry-run", "--json")
    say("set", "data", "--no-nfs", "--dry-run")
    assert files(appliance.root) == before and appliance.calls == []


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"smb_users": ("nobody-here",)}, "unknown user nobody-here"),
        ({"nfs_clients": ("10.0.0.1/24",)}, "did you mean 10.0.0.0/24"),
        ({"time_machine": True}, "Time Machine needs"),
        ({"size": "many"}, "is not a size"),
        ({"size": "4K"}, "1 MiB at least"),
        ({"size": "1T", "soft_size": "2T"}, "soft limit of .* is above its size"),
        ({"nfs_clients": ("@a", "@a")}, "named twice"),
        ({"type": "dataset-ro", "nfs_clients": ("@a",)}, "which nobody writes"),
    ],
)
def test_what_the_change_refuses_is_refused_in_its_words(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as shown:
        edit.preview(["train"], creation(["train"], settings))
    with pytest.raises(BadInput) as real:
        edit.create_shares(["train"], settings)
    assert str(shown.value) == str(real.value)


def test_a_share_that_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(Refused, match="share lost does not exist"):
        edit.preview(["lost"], setting("lost", {"comment": "x"}))
    with pytest.raises(BadInput, match="share data already exists"):
        edit.preview(["data"], creation(["data"], {}))


def test_the_command_line_shows_the_lines_alone() -> None:
    lines = say("create", "train", "--nfs-client", "@gpus", "--dry-run").output.splitlines()
    assert lines[0].startswith("/srv/pool/train @gpus(rw,") and lines[1] == "[train]"
    assert store.load().share("train") is None


def test_shares_are_verified_on_demand(appliance: Appliance) -> None:
    edit.create_shares(["train"], WANTED)
    [found] = json.loads(say("verify", "train", "--json").output)["shares"]
    assert found["name"] == "train" and found["problem"] is None
    assert "SMB: train is listed and accessible" in found["seen"]
    assert appliance.smb_accounts == set() and appliance.transient == {}


def test_a_share_that_is_not_served_is_named_with_what_is_wrong(appliance: Appliance) -> None:
    edit.create_shares(["train"], WANTED)
    appliance.table = {}
    output = say("verify").output
    assert "train: NOT SERVED: the export of train to 10.0.0.0/24, @gpus is not in the table" in output
    assert "data: NOT SERVED" in output


def test_looking_at_a_share_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="share 'lost' does not exist"):
        say("verify", "lost")
