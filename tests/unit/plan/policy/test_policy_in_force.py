# SPDX-License-Identifier: Apache-2.0
"""A typo in policy.toml does not stop serving: the last good policy stays in force, and the server says so."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import policy as check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.plan.policy import policy_in_force
from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_file import load_policy
from millrace.system import paths
from millrace.system.errors import BadInput
from tests.fakes import read_only

GOOD = '[nfs]\nnetworks = ["10.1.0.0/16"]\n'
TYPO = '[nfs]\nnetwork = ["10.1.0.0/16"]\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "etc/millrace").mkdir(parents=True)
    return tmp_path / "etc/millrace/policy.toml"


def test_readable_policy_is_in_force_without_a_finding(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(GOOD)
    policy_in_force.save_last_good()
    assert policy_in_force.in_force().nfs.networks == ["10.1.0.0/16"]
    assert capsys.readouterr().err == ""
    [finding] = check.check(Host())
    assert finding.level is Level.OK and str(file) in finding.sentence and finding.todo is None


@pytest.mark.parametrize("broken", [TYPO, "[nfs", "\udcff", '[nfsd]\nthreads = "64"\n'])
def test_typo_leaves_the_last_good_policy_in_force(file: Path, broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(GOOD)
    policy_in_force.save_last_good()
    file.write_bytes(broken.encode(errors="surrogateescape"))
    policy_in_force.save_last_good()
    assert policy_in_force.in_force().nfs.networks == ["10.1.0.0/16"]
    said = capsys.readouterr().err
    assert str(file) in said and "stays in force" in said and said.count("\n") == 1
    [finding] = check.check(Host())
    assert finding.level is Level.WARN and str(file) in finding.sentence
    assert finding.todo == "Correct the file, then: millrace share render"
    # a plan is never made from another policy than the one that the owner wrote
    with pytest.raises(BadInput, match=r"policy\.toml"):
        load_policy()


def test_corrected_policy_takes_effect_again(file: Path) -> None:
    for text in (GOOD, TYPO, GOOD.replace("10.1", "10.2")):
        file.write_text(text)
        policy_in_force.save_last_good()
    assert policy_in_force.find() == policy_in_force.InForce(load_policy())
    assert policy_in_force.in_force().nfs.networks == ["10.2.0.0/16"]


def test_removed_policy_means_the_defaults_also_after_a_later_typo(file: Path) -> None:
    file.write_text(GOOD)
    policy_in_force.save_last_good()
    file.unlink()
    policy_in_force.save_last_good()
    file.write_text(TYPO)
    assert policy_in_force.find().policy == Policy()


def test_first_policy_that_cannot_be_read_is_a_failure(file: Path) -> None:
    file.write_text(TYPO)
    policy_in_force.save_last_good()
    with pytest.raises(BadInput, match="unknown key"):
        policy_in_force.find()
    [finding] = check.check(Host())
    assert finding.level is Level.FAIL and "No earlier policy can be read" in finding.sentence


def test_policy_that_the_boot_drive_does_not_take_is_in_force(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("")
    policy_in_force.save_last_good()
    file.write_text("# edited since\n")
    read_only.boot_drive(paths.ROOT, monkeypatch)
    # each boot and each change of shares passes here
    policy_in_force.save_last_good()
    assert policy_in_force.find().problem is None
    assert policy_in_force.last_good_file().read_text() == ""


def test_torn_last_good_policy_is_no_substitute(file: Path) -> None:
    file.write_text(GOOD)
    policy_in_force.save_last_good()
    policy_in_force.last_good_file().write_text("[nf")
    file.write_text(TYPO)
    with pytest.raises(BadInput, match=r"etc/millrace/policy\.toml"):
        policy_in_force.find()


LATER = GOOD + "new_key = true\n[snapshots]\nfree = 20\n[new_section]\nkey = 1\n"


def test_keys_of_a_later_version_are_left_out_of_the_last_good_policy_and_named(file: Path) -> None:
    for path in (file, policy_in_force.last_good_file()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LATER)
    policy_in_force.save_last_good()
    in_force = policy_in_force.find()
    assert (in_force.policy.nfs.networks, in_force.policy.snapshots.free) == (["10.1.0.0/16"], 20)
    assert "stays in force without new_section, nfs.new_key, which this version does not know" in (
        in_force.problem or ""
    )
    assert policy_in_force.last_good() == in_force.policy
    [finding] = check.check(Host())
    assert finding.level is Level.WARN and "without new_section, nfs.new_key" in finding.sentence


def test_wrong_value_of_the_last_good_policy_is_no_key_of_a_later_version(file: Path) -> None:
    for path in (file, policy_in_force.last_good_file()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LATER.replace("free = 20", "free = 200"))
    with pytest.raises(BadInput):
        policy_in_force.find()
