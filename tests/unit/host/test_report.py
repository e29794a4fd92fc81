# SPDX-License-Identifier: Apache-2.0
"""A release that would not fit its slot on an installed machine is stopped at the build."""

import struct
from pathlib import Path

import pytest

from host import report, sources
from millrace.system.errors import Failed

NAME = "millrace_1_x86-64"


def erofs(path: Path, size: int, used: int) -> None:
    block = struct.pack("<IIIBBHQQIII", 0xE0F5E1E2, 0, 0, 12, 0, 36, 1, 0, 0, used >> 12, 0)
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(1024)
        file.write(block)


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    definitions = tmp_path / "repart.d"
    definitions.mkdir()
    for name, size in (("00-esp", "1G"), ("10-usr-verity", "32M"), ("11-usr", "2G")):
        (definitions / f"{name}.conf").write_text(f"[Partition]\nSizeMinBytes={size}\nSizeMaxBytes={size}\n")
    sparse(tmp_path / f"{NAME}.raw", 3 << 30)
    sparse(tmp_path / f"{NAME}.efi", 77 << 20)
    sparse(tmp_path / f"{NAME}.esp.raw", 1 << 30)
    sparse(tmp_path / f"{NAME}.usr-x86-64-verity.raw", 32 << 20)
    erofs(tmp_path / f"{NAME}.usr-x86-64.raw", 2 << 30, 600 << 20)
    (tmp_path / f"{NAME}.roothash").write_text("beef")
    return tmp_path


def test_the_report_names_sizes_and_the_largest_packages(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"Package: package{n:02d}\nInstalled-Size: {n * 1024}\nVersion: 1.{n}\n" for n in range(30)]
    (output / sources.STATUS).write_text("\n".join(rows))
    report.print_report(output, NAME, output / "repart.d")
    said = capsys.readouterr().out
    assert "600 MiB, 29% of its slot" in said
    assert said.count("package") == 1 + 20
    assert said.index("package29 1.29") < said.index("package10 1.10")
    assert "package09" not in said


def test_usr_leaves_a_quarter_of_its_slot_free(output: Path) -> None:
    erofs(output / f"{NAME}.usr-x86-64.raw", 2 << 30, 1600 << 20)
    with pytest.raises(Failed, match="/usr has 1600 MiB"):
        report.check_slots(output, NAME, output / "repart.d")


def test_a_partition_larger_than_the_slot_of_installed_machines_is_refused(output: Path) -> None:
    sparse(output / f"{NAME}.usr-x86-64-verity.raw", 33 << 20)
    with pytest.raises(Failed, match=r"verity\.raw"):
        report.check_slots(output, NAME, output / "repart.d")


def test_two_kernels_fit_the_esp(output: Path) -> None:
    sparse(output / f"{NAME}.efi", 400 << 20)
    with pytest.raises(Failed, match="Two kernels"):
        report.check_slots(output, NAME, output / "repart.d")
