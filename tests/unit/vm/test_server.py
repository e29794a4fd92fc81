# SPDX-License-Identifier: Apache-2.0
"""Files of virtual servers; mistakes are refused by file and key."""

from pathlib import Path

import pytest

from millrace.system.errors import BadInput
from vm.server import find, load

SERVERS = Path(__file__).parents[2] / "servers"

SMALL = """
description = "two drives"
boot_disk = "10G"
[[nodes]]
cpus = 1
memory = "1G"
[[drives]]
count = 2
size = "512M"
serial = "MR0099"
[[nics]]
"""


def described(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "odd.toml"
    path.write_text(text)
    return path


def test_the_1u12_has_ten_data_and_two_smaller_log_drives_over_two_nodes() -> None:
    server = find("1u12", SERVERS)
    sizes = [drive.size for drive in server.drives]
    assert (sizes.count(max(sizes)), sizes.count(min(sizes))) == (10, 2)
    assert [sum(d.node == node for d in server.drives) for node in (0, 1)] == [6, 6]
    assert sorted(nic.node for nic in server.nics) == [0, 1]
    assert (server.cpus, server.memory) == (4, 4 << 30)
    assert len({drive.serial for drive in server.drives}) == 12


def test_the_2u24_has_eighteen_data_and_two_smaller_log_drives() -> None:
    sizes = [drive.size for drive in find("2u24", SERVERS).drives]
    assert sizes.count(max(sizes)) == 18
    assert sizes.count(min(sizes)) == 2


def test_serials_count_up_and_keep_their_width(tmp_path: Path) -> None:
    server = load(described(tmp_path, SMALL))
    assert [drive.serial for drive in server.drives] == ["MR0099", "MR0100"]
    assert server.drives[0].block == 4096


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"'3u36'.*1u12.*2u24"):
        find("3u36", SERVERS)


def test_a_name_cannot_lead_out_of_the_directory() -> None:
    with pytest.raises(BadInput):
        find("../servers/1u12", SERVERS)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('size = "512M"', 'size = "lots"', "drives.0.size"),
        ('size = "512M"', "", "drives.0.size"),
        ("cpus = 1", "cpus = 0", "nodes.0.cpus"),
        ("cpus = 1", "cpus = 1\ncolour = 1", "nodes.0.colour"),
        ('serial = "MR0099"', 'serial = "MR,0099"', "drives.0.serial"),
        ('serial = "MR0099"', 'serial = "MR0099"\nnode = 1', "drives: node 1"),
        ("count = 2", "count = 21", "drives: node 0 has more than 20"),
        ("[[nics]]", "[[nics]]\nnode = 3", "nics: node 3"),
        ('serial = "MR0099"', 'serial = "MR0099"\nblock = 1000', "block 1000"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(tmp_path: Path, old: str, new: str, where: str) -> None:
    assert old in SMALL
    path = described(tmp_path, SMALL.replace(old, new))
    with pytest.raises(BadInput) as refusal:
        load(path)
    assert str(path) in str(refusal.value)
    assert where in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_same_serial_twice_is_refused(tmp_path: Path) -> None:
    again = '[[drives]]\ncount = 1\nsize = "1G"\nserial = "MR0100"\n'
    with pytest.raises(BadInput, match="MR0100 is there twice"):
        load(described(tmp_path, SMALL + again))


def test_what_is_not_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not TOML"):
        load(described(tmp_path, "nodes = ["))
