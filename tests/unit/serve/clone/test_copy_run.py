# SPDX-License-Identifier: Apache-2.0
"""What a server copies from another: only from a server that the policy names, and into a share of its own."""

import errno
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.serve.clone import copy_run, copy_tree
from millrace.serve.clone.copy_model import CopyReport
from millrace.serve.share.edit import create_shares
from millrace.serve.share.server import ShareServer
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.fakes.appliance import Appliance

SOURCE = "10.9.0.7:/srv/pool/models"


class Mounts:
    """mount and umount as the copy calls them; what the source server exports appears in the mountpoint."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.refusal = ""

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Answer as util-linux does."""
        self.calls.append(list(argv))
        if list(argv) == ["mount", "--make-rprivate", "/"] or list(argv[:2]) == ["umount", "--lazy"]:
            return Result(0, "", "")
        assert list(argv[:4]) == ["mount", "-t", "nfs4", "-o"], argv
        if self.refusal:
            return Result(32, "", self.refusal)
        (Path(argv[-1]) / "weights").write_text("weights")
        return Result(0, "", "")


@pytest.fixture
def mounts(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> Mounts:
    """A share to copy into, and a private mount namespace that is only asked for."""
    monkeypatch.setattr(os, "unshare", lambda flags: None, raising=False)
    monkeypatch.setattr(os, "CLONE_NEWNS", 0x20000, raising=False)
    monkeypatch.setattr(copy_run, "POLL", 0.01)
    create_shares(["models"], {}, appliance.server)
    (appliance.root / "srv/pool/models").mkdir(parents=True, exist_ok=True)
    return Mounts()


def here(appliance: Appliance, run: Mounts) -> ShareServer:
    found = appliance.server()
    return replace(found, run=run, nfsd=found.nfsd.model_copy(update={"copy_from": ["10.9.0.7"]}))


def copied(appliance: Appliance, mounts: Mounts) -> CopyReport:
    server = here(appliance, mounts)
    *_, last = copy_run.copy(*copy_run.prepare(SOURCE, "models", server), "1", server)
    assert isinstance(last, CopyReport)
    return last


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10.0.0.7:/data", "10.0.0.7:/data"),
        ("[fd00:1:0::7]:/data", "[fd00:1::7]:/data"),
    ],
)
def test_export_is_an_address_and_a_directory(text: str, shown: str) -> None:
    assert str(copy_run.parse_export(text)) == shown


@pytest.mark.parametrize(
    "text", ["", "data", "filer:/data", "10.0.0.7", "10.0.0.7:data", "10.0.0.7:/a/../b", "fd00::7:/a"]
)
def test_what_is_no_export_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="write it like"):
        copy_run.parse_export(text)


def test_server_that_the_policy_does_not_name_is_never_connected_to(appliance: Appliance, mounts: Mounts) -> None:
    with pytest.raises(Refused, match=r"the policy does not name 10\.9\.0\.8"):
        copy_run.prepare("10.9.0.8:/srv/pool/models", "models", here(appliance, mounts))
    assert mounts.calls == []


def test_share_that_is_missing_is_named_with_the_remedy(appliance: Appliance, mounts: Mounts) -> None:
    with pytest.raises(Refused, match="millrace share create nothing"):
        copy_run.prepare(SOURCE, "nothing", here(appliance, mounts))


def test_export_is_mounted_read_only_and_copied(appliance: Appliance, mounts: Mounts) -> None:
    report = copied(appliance, mounts)
    assert (appliance.root / "srv/pool/models/weights").read_text() == "weights"
    assert (report.id, report.source, report.target, report.bytes) == ("1", SOURCE, "models", 7)
    options = mounts.calls[1][4].split(",")
    assert {"ro", "nosuid", "nodev", "noexec", "softerr", "vers=4.2"} <= set(options)
    assert mounts.calls[-1] == ["umount", "--lazy", str(paths.run_dir() / "copy/source")]


def test_source_that_exports_nothing_is_one_sentence(appliance: Appliance, mounts: Mounts) -> None:
    mounts.refusal = "mount.nfs4: access denied by server while mounting"
    with pytest.raises(Failed, match=r"access denied.*must export this directory"):
        copied(appliance, mounts)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EDQUOT, "share models is full"),
        (errno.ENOSPC, "share models is full"),
        (errno.EROFS, "the pool is read-only"),
        (errno.ETIMEDOUT, "does not answer any more"),
    ],
)
def test_copy_that_ends_early_names_the_remedy(
    appliance: Appliance, mounts: Mounts, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    def fail(self: copy_tree.TreeCopy) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(copy_tree.TreeCopy, "run", fail)
    with pytest.raises(Failed, match=f"{words}.*run the same command again"):
        copied(appliance, mounts)
    assert mounts.calls[-1][0] == "umount"
