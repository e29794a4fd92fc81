# SPDX-License-Identifier: Apache-2.0
"""A name that is put together of two parts belongs to them alone: one part cannot hold what separates them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.measure.bench.plan.workloads import WORKS
from millrace.measure.bench.result.choices import BenchLayer
from millrace.observe.alert.addresses import route_name
from millrace.plan.labels import array_link
from millrace.serve.volume.model import volume_name
from millrace.storage.drive import hardware_errors
from millrace.storage.scrub.write_back import replaced_name
from millrace.system import names
from millrace.system.jobs.kinds import ALL
from millrace.system.rule import Rule

# Findings of these checks have a subject and no kind: Millrace names arrays itself, and a unit's name ends in its type.
SUBJECT_ALONE = {"arrays", "units"}


def without_kind(folder: Path) -> Iterator[str]:
    """Checks with a finding that has a subject and no kind."""
    for path in sorted(folder.glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call):
                continue
            given = {keyword.arg for keyword in call.keywords}
            by_place = 3 if getattr(call.func, "attr", "") == "absent" else None
            if "subject" in given and "kind" not in given and (by_place is None or len(call.args) <= by_place):
                yield path.stem


def test_key_of_a_finding_about_what_people_name_has_its_kind() -> None:
    # CHECK/KIND and CHECK/SUBJECT would be one key where a port or a drive has the name of a kind
    assert {*without_kind(REPO / "tools/millrace/observe/health/checks")} == SUBJECT_ALONE


def test_finding_without_its_kind_is_seen(tmp_path: Path) -> None:
    (tmp_path / "ports.py").write_text("HealthFinding(check=NAME, subject=port.name)")
    (tmp_path / "slots.py").write_text("host.absent(NAME, 'a', 'b', subject=port.name)")
    (tmp_path / "smb.py").write_text("HealthFinding(check=NAME, kind='a', subject=port.name)")
    assert [*without_kind(tmp_path)] == ["ports", "slots"]


@pytest.mark.parametrize(
    ("rule", "separators"),
    [
        # directories of the pool and of lanes, keys of quotas, lines of projects(5), exports(5) and smb.conf(5)
        (names.share_name, "/:@. "),
        # passwd(5), smbpasswd(5), homes below a share, `@group` in smb.conf(5)
        (names.account_name, "/:@. "),
        (volume_name, "/:@. "),
        (names.interface, "/:@ "),
        (names.host_name, "/:@ "),
        (route_name, "/:@ "),
    ],
)
def test_names_that_people_give_have_no_separator(rule: Rule, separators: str) -> None:
    assert rule.problem("ab") is None
    assert [separator for separator in separators if rule.problem(f"a{separator}b") is None] == []


def test_parts_of_our_own_names_have_no_separator() -> None:
    # LAYER/TARGET/PROFILE/OPERATION, and raw/LAYER-TARGET-PROFILE-OPERATION-N.json.gz of a run
    assert len({work.name.replace("/", "-") for work in WORKS}) == len(WORKS)
    assert not any({*"/-"} & {*layer} for layer in BenchLayer)
    # drives/…/KIND of counted errors: what comes last is ours, so a serial may have any character
    kinds = (
        hardware_errors.CORRECTED,
        hardware_errors.UNCORRECTED,
        hardware_errors.THROTTLED,
        hardware_errors.THROTTLED_SECONDS,
        hardware_errors.HOT_MINUTES,
    )
    assert not any("/" in kind for kind in kinds)
    # files of jobs
    assert len({kind.name for kind in ALL}) == len([*ALL]) and not any("/" in kind.name for kind in ALL)


def test_serial_number_of_any_characters_names_one_file() -> None:
    serials = ("SN1", "1-SN1", "a/b", "a%2Fb", "..", "a b")
    files = {replaced_name("data", 8, serial) for serial in serials}
    assert len(files) == len(serials) and not any("/" in name for name in files)


def test_link_of_an_array_is_that_of_its_name() -> None:
    assert len({array_link(name) for name in ("data", "data0", "log", "leg-0", "leg0")}) == 5
