# SPDX-License-Identifier: Apache-2.0
"""A verification stays until the next one, also over a new process."""

import json
from functools import partial

import pytest
from click.testing import CliRunner

from millrace.serve.share import kept_results, share_list
from millrace.serve.share.edit import create_shares, remove_share
from millrace.serve.share.model import ShareVerification
from millrace.serve.share.verbs import share
from millrace.serve.share.verify import verify
from millrace.system import paths
from tests.fakes.appliance import Appliance


def test_changes_and_verifications_are_kept_for_each_share(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.system.net.serving", lambda: [])
    monkeypatch.setattr(share_list, "listed", partial(share_list.listed, run=appliance))
    create_shares(["lab"], {}, appliance.server)
    (after_change,) = kept_results.kept(["lab"])
    assert after_change.result.problem is None and after_change.result.seen
    verify([], appliance.server)
    said = json.loads(CliRunner().invoke(share, ["list", "--json"], catch_exceptions=False).output)
    assert {kept["result"]["name"] for kept in said["verifications"]} == {"data", "lab"}
    remove_share("lab", None, appliance.server)
    said = json.loads(CliRunner().invoke(share, ["list", "--json"], catch_exceptions=False).output)
    assert [kept["result"]["name"] for kept in said["verifications"]] == ["data"]


def test_damaged_record_is_no_verification_and_is_written_again(appliance: Appliance) -> None:
    paths.verified_file().parent.mkdir(parents=True, exist_ok=True)
    paths.verified_file().write_text("{")
    assert kept_results.kept(["lab"]) == []
    kept_results.keep([ShareVerification(name="lab", seen=[], problem="no")])
    assert [kept.result.problem for kept in kept_results.kept(["lab"])] == ["no"]
