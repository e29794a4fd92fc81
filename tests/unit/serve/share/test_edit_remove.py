# SPDX-License-Identifier: Apache-2.0
"""A removed share is not served; its data is deleted only with the name repeated."""

import os

import pytest

from millrace.serve.config import store
from millrace.serve.share.edit import create_shares, remove_share
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result
from tests.fakes.appliance import Appliance


def names() -> list[str]:
    return [one.name for one in store.load().shares]


def test_share_is_not_served_and_its_data_stays(appliance: Appliance) -> None:
    create_shares(["train"], {"size": "1T"}, appliance.server)
    (appliance.root / "srv/pool/train/weights").write_text("mine")
    report = remove_share("train", None, appliance.server)
    assert report.share is None and names() == ["data"]
    assert "/srv/pool/train" not in appliance.exported() and "train" not in appliance.on_smb()
    assert (appliance.root / "srv/pool/train/weights").read_text() == "mine"
    assert appliance.called("smbcontrol smbd close-share train")
    assert "SMB: train is not listed" in report.verified
    assert appliance.called("xfs_quota -x -c limit -p bsoft=0 bhard=0 ihard=0 1002")


def test_list_that_did_not_come_is_no_proof_that_a_share_is_gone(appliance: Appliance) -> None:
    create_shares(["train"], {}, appliance.server)
    appliance.broken = {"smbclient -m SMB3_11 -A": Result(0, "SMB1 disabled -- no workgroup available\n", "")}
    with pytest.raises(Refused, match="listing fails: SMB1 disabled"):
        remove_share("train", None, appliance.server)


def test_data_is_deleted_only_with_the_name_repeated(appliance: Appliance) -> None:
    create_shares(["train"], {}, appliance.server)
    with pytest.raises(BadInput, match="nothing was removed"):
        remove_share("train", "Train", appliance.server)
    assert names() == ["data", "train"]
    remove_share("train", "train", appliance.server)
    assert not (appliance.root / "srv/pool/train").exists()
    [line] = appliance.called("rm ")
    assert "--one-file-system -- " in line and "/.millrace-trash/train-" in line


def test_share_that_is_created_again_keeps_data_and_handles(appliance: Appliance) -> None:
    first = create_shares(["train"], {}, appliance.server).share
    (appliance.root / "srv/pool/train/weights").write_text("mine")
    remove_share("train", None, appliance.server)
    again = create_shares(["train"], {}, appliance.server).share
    assert first and again and first.fsid == again.fsid and first.project < again.project
    assert (appliance.root / "srv/pool/train/weights").read_text() == "mine"


def test_share_that_is_still_exported_is_not_removed(appliance: Appliance) -> None:
    create_shares(["train"], {}, appliance.server)
    appliance.broken["exportfs -s"] = Result(0, "/srv/pool/train  10.0.0.0/24(ro)\n", "")
    with pytest.raises(Refused, match="still exported"):
        remove_share("train", None, appliance.server)
    assert names() == ["data", "train"]


def test_what_an_interrupted_removal_left_is_in_nobodys_way(appliance: Appliance) -> None:
    create_shares(["train"], {}, appliance.server)
    # a boot later the same number of a process comes again
    left = appliance.root / f"srv/pool/.millrace-trash/train-{os.getpid()}"
    left.mkdir(parents=True)
    (left / "weights").write_text("old")
    remove_share("train", "train", appliance.server)
    assert not (appliance.root / "srv/pool/train").exists()
