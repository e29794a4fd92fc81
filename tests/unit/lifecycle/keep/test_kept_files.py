# SPDX-License-Identifier: Apache-2.0
"""Every file of Millrace is kept or left with a reason, and what is decided is watched."""

import inspect
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from host.layout import REPO
from millrace.lifecycle.keep import kept_files
from millrace.serve.config.model import DesiredShare
from millrace.system import paths
from tests.unit.boot.units import before, names, unit

# Directories, of which the table has the files.
DIRECTORIES = {
    "run/millrace",
    "var/lib/millrace",
    "var/lib/millrace/keep",
    "var/lib/millrace/history",
    "var/lib/millrace/update",
    "var/lib/millrace/update/staged",
    "var/lib/millrace/by-version",
}
# Not below the directories of Millrace.
ELSEWHERE = {"var/lib/millrace-alert/state.json", "run/millrace-alert/report.json"}


def named_in_paths() -> set[str]:
    """The files of state that `paths` names."""
    found = [function() for _, function in inspect.getmembers(paths, inspect.isfunction)]
    return {str(path.relative_to(paths.ROOT)) for path in found if isinstance(path, Path)}


def named_in_rooms() -> set[str]:
    """What rooms add to the directory of the state themselves: a literal, or a constant of the module."""
    files = set()
    for path in sorted((REPO / "tools/millrace").rglob("*.py")):
        text = path.read_text()
        for begin, literal, word in re.findall(r'state_dir\(\) / (?:f"([^"{]+)\{.*|"([^"]+)"|(\w+))', text):
            if begin or literal:
                files.add(literal or f"{begin}x.metadump")
                continue
            match = re.search(rf"^{word}\b.*= .*\"([^\"]+)\"$", text, re.MULTILINE)
            assert match, f"{path} adds {word} to the state: name it in a constant of this module"
            files.add(match[1])
    return {f"var/lib/millrace/{name}" for name in files}


def test_every_file_of_the_state_is_kept_or_left_with_a_reason() -> None:
    state = {name for name in named_in_paths() if not name.startswith("run/")} - DIRECTORIES - ELSEWHERE
    assert len(state) > 20
    trees = {one.path for one in kept_files.KEPT if one.how == "tree"}
    assert [name for name in sorted(state - trees) if kept_files.fate(name) is None] == []


def test_what_rooms_add_to_the_state_is_kept_or_left_with_a_reason() -> None:
    found = named_in_rooms() - DIRECTORIES
    assert {"var/lib/millrace/config.json", "var/lib/millrace/nfs-handles.key"} <= found
    trees = {one.path for one in kept_files.KEPT if one.how == "tree"}
    inside = {f"{name}/x.json" if name.rpartition("/")[2].find(".") < 0 else name for name in found - trees}
    assert [
        name for name in sorted(inside) if kept_files.fate(name) is None and kept_files.fate(name[:-7]) is None
    ] == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("var/lib/millrace/certificate/sets/set-1/server.key", "authority"),
        ("var/lib/millrace/alert/secrets.json", "alert routes"),
        ("var/lib/millrace/config-history/0001.json", "rollback"),
        ("var/lib/millrace/keep/key.json", "would open what it seals"),
        ("var/lib/millrace/certificate/.lock", "held by processes"),
        ("etc/millrace/logs-ca.pem", "the policy"),
    ],
)
def test_fate_of_a_file(path: str, words: str) -> None:
    assert words in (kept_files.fate(path) or "")


def test_file_that_the_table_does_not_have_is_found() -> None:
    assert kept_files.fate("var/lib/millrace/new.json") is None
    assert kept_files.fate("var/lib/millrace/new/file.json") is None


def test_files_that_the_image_makes_in_its_own_directories_are_in_the_table() -> None:
    lines = (REPO / "mkosi.extra/usr/lib/tmpfiles.d/millrace.conf").read_text().splitlines()
    made = [line.split()[1] for line in lines if re.match(r"[fdL]\S* /(var/lib|etc)/millrace/", line)]
    trees = {f"/{one.path}" for one in kept_files.KEPT if one.how == "tree"}
    assert {path for path in made if path not in trees and kept_files.fate(f"{path[1:]}/x.json") is None} == {
        # the table has what is in them
        "/var/lib/millrace/access",
        "/var/lib/millrace/history",
    }


def test_what_others_can_read_is_no_secret_and_what_they_cannot_is_one() -> None:
    secret = {one.path for one in kept_files.KEPT if one.secret}
    assert {one for one in secret if one.endswith((".pub", "config.json", "pool.json"))} == set()
    assert {
        one.path for one in kept_files.KEPT if one.path.endswith((".key", ".keytab", "_key", "secrets.tdb"))
    } <= secret


def watches() -> set[str]:
    """Return the paths whose changes start a run, of units with one path each."""
    paths_of = [unit(name)["PathChanged"] for name in names(unit("millrace-upkeep@keep.timer"), "Wants")]
    assert all(len(one) == 1 for one in paths_of)
    return {path for one in paths_of for path in one}


def test_each_decision_starts_a_run() -> None:
    """A history changes with what it is the history of, SSH host keys are made at the first boot.

    smbd opens databases for writing and closes them with each connection: a watch of one would start a run for each.
    """
    watched = watches()
    with_another = ("var/lib/millrace/config-history", "etc/ssh/")
    where = {"shadow": "etc/shadow", "quotas": None}
    wanted = {where.get(kept.how, kept.path) for kept in kept_files.KEPT if kept.decided and kept.how != "tdb"}
    assert {"/var/lib/millrace/machine-sid.json", "/etc/krb5.keytab"} < watched
    assert watched == {f"/{path}" for path in wanted if path and not path.startswith(with_another)}


def test_records_are_watched_by_nobody() -> None:
    watched = watches()
    assert not watched & {f"/{one.path}" for one in kept_files.KEPT if not one.decided}


@pytest.mark.parametrize("name", [paths.POOL_OWN, f"{paths.POOL_OWN}/keep", "../pool/.millrace"])
def test_no_share_is_the_directory_or_leads_there(name: str) -> None:
    assert DesiredShare(name="models", type="mixed", project=1001).name == "models"
    with pytest.raises(ValidationError, match="name\n"):
        DesiredShare(name=name, type="mixed", project=1001)


def test_change_during_a_run_is_one_more_run_after_it_and_the_first_is_at_boot() -> None:
    assert unit("millrace-kept@etc-shadow.path")["Unit"] == ["millrace-again@millrace-keep.service"]
    assert unit("millrace-again@.service")["After"] == ["%i.service"]
    assert "millrace-keep.service" in names(unit("millrace-serving.target"), "Wants")
    assert (REPO / "units/timers.target.wants/millrace-upkeep@keep.timer").is_symlink()


def test_service_has_no_rights_and_writes_nothing_of_the_server_but_its_status() -> None:
    found = unit("millrace-keep.service")
    # SSH keys of admin, in a directory of admin
    assert (found["CapabilityBoundingSet"], found["ProtectHome"]) == (["CAP_DAC_READ_SEARCH"], ["read-only"])
    assert found["ReadWritePaths"] == ["/srv/pool /run/millrace /var/lib/millrace/keep"]
    assert found["ConditionPathIsMountPoint"] == ["/srv/pool"]
    # nothing that serves waits for it
    assert "millrace-keep.service" not in before("nfs-server.service") | before("smbd.service")
