# SPDX-License-Identifier: Apache-2.0
"""The virtual server has the shape of the real one: nodes, drives by serial, NICs where they belong."""

import base64
from pathlib import Path

import pytest

from vm.accel import Accel
from vm.link import Cables, outside
from vm.qemu import Files, Options, server_command
from vm.server import find

SERVER = find("1u12", Path(__file__).parents[2] / "servers")
FILES = Files(Path("/machine"), Path("/sockets"))


def command(accel: str = "tcg", **changes: object) -> list[str]:
    options = Options(**{"links": outside(2), **changes})  # type: ignore[arg-type]
    return server_command(SERVER, Accel(accel), FILES, options)


def values(argv: list[str], flag: str) -> list[str]:
    return [argv[i + 1] for i, part in enumerate(argv) if part == flag]


def devices(argv: list[str], driver: str) -> list[dict[str, str]]:
    found = []
    for value in values(argv, "-device"):
        name, *settings = value.split(",")
        if name == driver:
            found.append(dict(setting.partition("=")[::2] for setting in settings))
    return found


def test_every_drive_has_its_serial_on_a_port_of_its_node() -> None:
    argv = command()
    ports = {port["id"]: port["bus"] for port in devices(argv, "pcie-root-port")}
    found = {nvme["serial"]: ports[nvme["bus"]] for nvme in devices(argv, "nvme")}
    assert found == {drive.serial: f"node{drive.node}" for drive in SERVER.drives}


def test_no_two_ports_share_a_slot_or_a_chassis() -> None:
    ports = devices(command(), "pcie-root-port")
    assert len({(port["bus"], port["addr"]) for port in ports}) == len(ports) == 16
    assert len({port["chassis"] for port in ports}) == len(ports)


def test_drives_have_4096_byte_blocks_and_honest_flushes() -> None:
    argv = command()
    assert {ns["logical_block_size"] for ns in devices(argv, "nvme-ns")} == {"4096"}
    assert not any("unsafe" in part or "no-flush" in part for part in argv)


def test_logged_writes_are_those_that_the_guests_drive_gets() -> None:
    """The filter is the drive's node; below it zeros become holes, which would be no writes with data."""
    argv = command(log_writes=True)
    nodes = [dict(part.partition("=")[::2] for part in value.split(",")) for value in values(argv, "-blockdev")]
    named = {node["node-name"]: node for node in nodes}
    assert len(devices(argv, "nvme-ns")) == len(SERVER.drives)
    for number, drive in enumerate(SERVER.drives):
        filtered = named[f"drive{number}"]
        assert (filtered["driver"], filtered["log.filename"]) == ("blklogwrites", f"/machine/{drive.serial}.log")
        assert "detect-zeroes" not in filtered
        assert named[filtered["file"]]["file.filename"] == f"/machine/{drive.serial}.raw"
    assert {ns["drive"] for ns in devices(argv, "nvme-ns")} == {f"drive{n}" for n in range(len(SERVER.drives))}


def test_two_nodes_share_processors_and_memory_evenly() -> None:
    argv = command()
    assert values(argv, "-numa") == [
        "node,nodeid=0,cpus=0-1,memdev=mem0",
        "node,nodeid=1,cpus=2-3,memdev=mem1",
        "dist,src=0,dst=1,val=21",
    ]
    assert values(argv, "-m") == ["4096M"]
    assert [pxb["numa_node"] for pxb in devices(argv, "pxb-pcie")] == ["0", "1"]


def test_only_the_boot_disk_is_booted() -> None:
    argv = command()
    assert [disk["bootindex"] for disk in devices(argv, "virtio-blk-pci")] == ["1"]
    assert sum("bootindex" in part for part in argv) == 1


def test_medium_is_a_usb_drive_that_is_tried_first_and_cannot_be_written() -> None:
    argv = command(medium=Path("/image.raw"))
    assert [disk["bootindex"] for disk in devices(argv, "usb-storage")] == ["0"]
    assert sum("bootindex" in part for part in argv) == 2
    (node,) = [value for value in values(argv, "-blockdev") if "file.filename=/image.raw" in value]
    assert "read-only=on" in node


def test_services_are_forwarded_on_loopback_only() -> None:
    [management] = [v for v in values(command(forwards={2049: 40001, 445: 40002}), "-netdev") if "management" in v]
    assert management == "user,id=management,hostfwd=tcp:127.0.0.1:40002-:445,hostfwd=tcp:127.0.0.1:40001-:2049"


def test_a_credential_reaches_the_guest_byte_for_byte() -> None:
    secret = b"[nfs]\nprivileged_ports = false\n\xff"
    [value] = [v for v in values(command(credentials={"millrace.policy": secret}), "-smbios") if "credential" in v]
    name, _, encoded = value.removeprefix("type=11,value=io.systemd.credential.binary:").partition("=")
    assert name == "millrace.policy"
    assert base64.b64decode(encoded) == secret


def test_commas_on_the_kernel_command_line_survive_qemus_parser() -> None:
    [value] = values(command(cmdline=["console=ttyS0,115200"]), "-smbios")
    assert value.endswith("kernel-cmdline-extra=console=ttyS0,,115200")


def test_emulation_is_never_left_to_qemus_own_fallback() -> None:
    assert values(command("tcg"), "-accel") == ["tcg,thread=multi,tb-size=1024"]
    assert values(command("kvm"), "-accel") == ["kvm"]


def test_a_server_with_a_nic_that_has_no_cable_is_not_built() -> None:
    with pytest.raises(ValueError, match="shorter"):
        command(links=outside(1))


def test_the_ends_of_a_cable_fit_each_other() -> None:
    with Cables(2) as cables:
        for ours, theirs in zip(cables.server_ends, cables.client_ends, strict=True):
            here = dict(setting.partition("=")[::2] for setting in ours.split(",")[1:])
            there = dict(setting.partition("=")[::2] for setting in theirs.split(",")[1:])
            assert (here["local.path"], here["remote.path"]) == (there["remote.path"], there["local.path"])
        assert len(set(cables.server_ends)) == 2


def test_secure_boot_has_the_firmware_that_keeps_its_variables_from_the_kernel() -> None:
    argv = command(secure_boot=True)
    assert any(value.endswith("/OVMF_CODE_4M.secboot.fd") for value in values(argv, "-drive"))
    assert "smm=on" in values(argv, "-machine")[0].split(",")
    assert "driver=cfi.pflash01,property=secure,value=on" in values(argv, "-global")


def test_other_servers_start_without_system_management_mode_of_their_own() -> None:
    argv = command()
    assert not values(argv, "-global") and "smm" not in values(argv, "-machine")[0]
    assert any(value.endswith("/OVMF_CODE_4M.fd") for value in values(argv, "-drive"))


def test_tpm_is_there_only_where_it_is_asked_for() -> None:
    assert not devices(command(), "tpm-tis") and not any("tpm" in part for part in command())
    argv = command(tpm=True)
    assert devices(argv, "tpm-tis") == [{"tpmdev": "tpm0"}]
    assert "emulator,id=tpm0,chardev=tpm" in values(argv, "-tpmdev")
    assert "socket,id=tpm,path=/sockets/tpm" in values(argv, "-chardev")


def test_console_is_typed_on_where_there_is_a_pipe(tmp_path: Path) -> None:
    def console() -> str:
        files = Files(tmp_path, tmp_path)
        argv = server_command(SERVER, Accel("tcg"), files, Options(links=outside(2)))
        return next(value for value in values(argv, "-chardev") if value.startswith("file,id=console"))

    assert "input-path" not in console()
    (tmp_path / "typed").touch()
    assert console().endswith(f",input-path={tmp_path / 'typed'}")
