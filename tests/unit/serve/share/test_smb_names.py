# SPDX-License-Identifier: Apache-2.0
"""Names on both protocols: one mapping for all shares, and what SMB clients cannot see or open is named."""

import errno
import os
import re
import resource
from pathlib import Path

import pytest

from millrace.serve.config.model import first_config
from millrace.serve.share import name_survey, smb, smb_names
from millrace.serve.share.name_survey import survey
from millrace.serve.share.verify import verify
from tests.fakes.appliance import Appliance


def test_mapping_is_that_of_macos_and_of_linux() -> None:
    """fs/smb/client/cifs_unicode.h of Linux: SFM_DOUBLEQUOTE to SFM_PIPE, and control characters from U+F001 on."""
    expected = {'"': 0xF020, "*": 0xF021, ":": 0xF022, "<": 0xF023, ">": 0xF024, "?": 0xF025, "\\": 0xF026, "|": 0xF027}
    controls = {chr(code): 0xF000 + code for code in range(1, 32)}
    assert {ours: ord(theirs) for ours, theirs in smb_names.MAPPED.items()} == expected | controls
    assert smb_names.MAPPINGS.startswith("0x01:0xf001,") and smb_names.MAPPINGS.endswith("0x5c:0xf026,0x7c:0xf027")


def test_every_share_has_the_mapping_and_the_module() -> None:
    text = smb.configuration([], [])
    head = text.split("\n[")[1]
    assert f"\ncatia:mappings = {smb_names.MAPPINGS}\n" in head and "catia:mappings" not in text.replace(head, "")
    # a module has the mappings of one character each way, or a name would be another one on its way back
    assert len(set(smb_names.MAPPED.values())) == len(smb_names.MAPPED)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("plain.txt", None),
        ("Garden-2022-06-20_11:05:00.jpg", None),
        ('a<b>|"?*\\x', None),
        ("new\nline", None),
        ("x" * 255, None),
        (".hidden", None),
        ("console", None),
        ("trail.", "windows"),
        ("blank ", "windows"),
        ("CON", "windows"),
        ("aux.h", "windows"),
        ("com7.log", "windows"),
        ("mac\uf022colon", "private"),
        ("\uf001", "private"),
        ("\uf029", None),
        ("\udce9t\udce9", "encoding"),
    ],
)
def test_trouble_of_a_name(name: str, kind: str | None) -> None:
    assert smb_names.trouble(os.fsencode(name)) == kind


def test_survey_counts_and_names_what_clients_cannot_use(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    for name in ("README", "readme", "trail.", "dir/\udcff\udcfe", "plain", "e\u0301te\u0301", "\u00e9t\u00e9"):
        (tmp_path / name).touch()
    for number in range(5):
        (tmp_path / f"dir/\uf022{number}").touch()
    counted = sorted(survey(tmp_path, True))
    assert "differ only in the case of letters" in counted[0] and " (1): " in counted[0]
    assert "not UTF-8" in counted[1] and " (1): dir/\\xff\\xfe; rename them" in counted[1]
    assert "cannot be opened by Windows" in counted[2] and " (1): trail.; rename them" in counted[2]
    assert "U+F001 to U+F027" in counted[3] and re.search(
        r" \(5\): (dir/\\uf022\d, ){2}dir/\\uf022\d and 2 more;", counted[3]
    )
    assert len(survey(tmp_path, False)) == 3


def test_survey_of_a_large_tree_ends_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "trail.").touch()
    times = iter((0.0, name_survey.SECONDS + 1))
    assert survey(tmp_path, True, lambda: next(times))[1] == "only 1 names were examined, in 60 s"


def test_survey_looks_at_the_clock_within_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_survey, "LOOK", 10)
    for number in range(25):
        (tmp_path / str(number)).touch()
    times = iter((0.0, 1.0, name_survey.SECONDS + 1))
    assert survey(tmp_path, True, lambda: next(times)) == ["only 20 names were examined, in 60 s"]


def test_survey_remembers_a_number_of_names_of_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_survey, "COMPARED", 5)
    (tmp_path / "large").mkdir()
    for number in range(8):
        (tmp_path / f"large/{number}").touch()
    (tmp_path / "large/CON").touch()
    lines = survey(tmp_path, True)
    assert "names that differ only in case were not compared beyond 5 of a directory (1): large" in lines
    assert len(lines) == 2 and " (1): large/CON; rename" in lines[0]
    assert len(survey(tmp_path, False)) == 1


def test_survey_of_a_deep_tree_needs_few_descriptors(tmp_path: Path) -> None:
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(150):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.dup2(inner, at)
        os.close(inner)
    os.mkdir("CON", dir_fd=at)
    os.close(at)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # tests before this one may have left some open
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, hard))
    try:
        [line] = survey(tmp_path, True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert line.count("d/") == 150


def test_survey_goes_on_after_a_directory_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "broken", "z"):
        (tmp_path / name / "CON").mkdir(parents=True)
    opened = os.open

    def broken(name: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "broken":
            raise OSError(errno.EIO, "Input/output error")
        return opened(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", broken)
    names, unread = survey(tmp_path, True)
    assert "(2): " in names and "a/CON" in names and "z/CON" in names
    assert unread == "directories cannot be read, and their names were not examined (1): broken"


def test_verification_of_shares_names_them(appliance: Appliance) -> None:
    appliance.server().apply(first_config())
    (appliance.root / "srv/pool/data/CON").touch()
    [report] = verify([], appliance.server).shares
    assert report.problem is None and len(report.files) == 1 and report.files[0].count(" (1): CON; rename") == 1
