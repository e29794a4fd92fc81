# SPDX-License-Identifier: Apache-2.0
"""The inventory on a terminal, and files that are no inventory."""

import json
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.inventory.model import Inventory, KernelModule
from millrace.inventory.text import lines
from tests.unit.plan import servers_hw


def shown(inventory: Inventory) -> str:
    return " ".join("\n".join(lines(inventory)).split())


def test_a_slow_link_stands_beside_what_it_could_be() -> None:
    text = shown(servers_hw.trained_down())
    assert "(of 32" in text
    assert text.count("(of 32") == 1


def test_wear_and_temperature_where_they_are_known() -> None:
    text = shown(servers_hw.hot_and_worn())
    assert "97 %" in text and "84" in text
    assert "97 %" not in shown(servers_hw.one_u_12())


def test_rebuilt_modules_are_named_where_there_are_any() -> None:
    stock = servers_hw.one_u_12()
    modules = [KernelModule(name="grace", build="debian"), KernelModule(name="nfsd", build="millrace")]
    assert "rebuilt" not in shown(stock)
    assert shown(stock.model_copy(update={"file_modules": modules})).endswith("instead of Debian's: nfsd")


@pytest.mark.parametrize("name", sorted(servers_hw.ALL))
def test_every_server_survives_json(name: str) -> None:
    inventory = servers_hw.ALL[name]()
    assert Inventory.model_validate_json(inventory.model_dump_json()) == inventory


def test_an_inventory_of_the_first_release_still_loads() -> None:
    first = json.loads(servers_hw.one_u_12().model_dump_json())
    added = (
        "smt",
        "cpu_mhz",
        "cpu_throttled",
        "ecc",
        "dimms",
        "switches",
        "kernel_features",
        "lockdown",
        "file_modules",
    )
    for key in added:
        del first[key]
    for key in ("eui64", "lba_formats", "dlfeat", "volatile_write_cache", "wear", "slot", "switch"):
        del first["drives"][0][key]
    for key in ("software_rdma", "firmware", "card_ports"):
        del first["nics"][0][key]
    for key in ("socket", "l3"):
        del first["nodes"][0][key]
    assert Inventory.model_validate(first).drives[0].lba_formats == []


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (["schema_version"], 2, "schema_version"),
        (["drives", 3, "size"], -1, "drives.3.size"),
        (["drives", 0, "logical_block"], 0, "drives.0.logical_block"),
        (["memory"], -(8 << 30), "memory"),
        (["nics", 0, "speed"], -400000, "nics.0.speed"),
        (["drives", 0, "link", "width"], -4, "drives.0.link.width"),
        (["drives", 0, "colour"], "red", "drives.0.colour"),
    ],
)
def test_a_value_that_cannot_be_is_named_by_file_and_key(
    path: list[str | int], value: object, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(servers_hw.one_u_12().model_dump_json())
    place = document
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    file = tmp_path / "inventory.json"
    file.write_text(json.dumps(document))
    assert run(["plan", "--inventory", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"millrace: {file}: {key}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"schema_version": 1'])
def test_a_file_that_is_no_inventory(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "inventory.json"
    file.write_bytes(content)
    assert run(["plan", "--inventory", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"millrace: {file}: the document: ")


def test_a_directory_is_no_inventory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--inventory", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
