# SPDX-License-Identifier: Apache-2.0
"""Each recipe word for word, and what all of them have in common."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from millrace.measure.client import text
from millrace.measure.client.choices import ClientWorkload, Protocol
from millrace.measure.client.tls import Tls
from tests.fakes.certificates import certificate
from tests.unit.measure.client.servers import SMB_ONLY, TRAIN, recipe

GOLDEN = Path(__file__).parent / "golden"
DIRECT = replace(TRAIN, nfs=False, smb=False, direct=True)
WORKLOADS = [one.value for one in ClientWorkload]
PROTOCOLS = [one.value for one in Protocol if one is not Protocol.SMB_RDMA]


@pytest.mark.parametrize(("workload", "protocol"), list(product(WORKLOADS, PROTOCOLS)))
def test_every_workload_over_every_protocol(workload: str, protocol: str) -> None:
    assert text.lines(recipe(workload, protocol)) == (GOLDEN / f"{workload}-{protocol}").read_text().split("\n")[:-1]


def test_smb_direct_mounts_without_what_it_does_not_have() -> None:
    made = recipe("training", "smb-rdma", DIRECT)
    assert text.lines(made) == (GOLDEN / "training-smb-rdma").read_text().split("\n")[:-1]
    options = {one.option for one in made.options}
    assert "rdma" in options and not options & {"seal", "multichannel", "posix"}
    assert (made.expect.encrypted, made.expect.lanes) == (False, 1)
    assert all(one.reason and one.source for one in [*made.options, *made.left_out])


@pytest.mark.parametrize("gpu", ["nvidia", "amd"])
def test_gpus_of_each_maker(gpu: str) -> None:
    made = recipe(protocol=None, gpu=gpu, client_addresses=["10.0.0.21", "10.0.1.21"] if gpu == "nvidia" else [])
    assert text.lines(made) == (GOLDEN / f"training-gpu-{gpu}").read_text().split("\n")[:-1]


def test_data_set_with_a_local_cache() -> None:
    made = recipe(served=replace(TRAIN, read_only=True), local_cache=True)
    assert text.lines(made) == (GOLDEN / "training-local-cache").read_text().split("\n")[:-1]


@pytest.mark.parametrize(("workload", "protocol"), list(product(WORKLOADS, PROTOCOLS)))
def test_every_choice_has_a_reason_and_a_source(workload: str, protocol: str) -> None:
    made = recipe(workload, protocol)
    assert all(one.reason and one.source for one in [*made.options, *made.left_out])
    assert all(note.text and note.source for note in made.notes)


@pytest.mark.parametrize(("workload", "protocol"), list(product(WORKLOADS, PROTOCOLS)))
def test_setuid_and_device_files_of_other_clients_count_for_nothing(workload: str, protocol: str) -> None:
    made = recipe(workload, protocol)
    for options in [*(line.split()[3] for line in made.fstab), made.commands[1].split()[4]]:
        assert {"nosuid", "nodev"} <= set(options.split(","))


@pytest.mark.parametrize(("workload", "protocol"), list(product(WORKLOADS, PROTOCOLS)))
def test_fstab_units_and_commands_mount_the_same_with_the_same_options(workload: str, protocol: str) -> None:
    made = recipe(workload, protocol)
    options = made.fstab[0].split()[3].split(",_netdev,")[0]
    (unit,) = [one for one in made.units if one.path == "/etc/systemd/system/mnt-train.mount"]
    assert f"Options={options},_netdev" in unit.text.splitlines()
    assert made.commands[1] == f"mount -t {made.expect.fstype} -o {options} {made.source} /mnt/train"


@pytest.mark.parametrize("protocol", ["nfs-tcp", "nfs-tcp-trunked", "nfs-rdma", "nfs-rdma-trunked"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_nothing_that_the_kernel_does_by_itself_or_no_longer_knows_is_set(workload: str, protocol: str) -> None:
    made = recipe(workload, protocol)
    (modprobe,) = made.files
    lines = [line for line in modprobe.text.splitlines() if not line.startswith("#")]
    assert len(lines) == 1
    for name in ("nfs4_disable_idmapping", "delay_retrans", "nfs_access_max_cachesize", "enable_ino64", "sunrpc"):
        assert name not in lines[0]
        assert f"# {name}" in modprobe.text


def test_module_options_are_in_the_ranges_of_the_talk() -> None:
    allowed = {
        "training": ((128, 256), (32, 64), (8, 12)),
        "checkpoint": ((128, 256), (32, 64), (8, 12)),
        "dataloader": ((64, 128), (16, 32), (8, 16)),
        "mixed": ((128, 192), (24, 48), (8, 12)),
    }
    # which knew no KV cache
    assert {*allowed} == {*WORKLOADS} - {"kvcache"}
    for workload, ranges in allowed.items():
        values = [module.at_least for module in recipe(workload).expect.modules]
        within = [low <= value <= high for value, (low, high) in zip(values, ranges, strict=True)]
        assert within == [True, True, True], workload


def test_a_server_that_is_down_never_holds_up_the_boot_of_a_client() -> None:
    for protocol in PROTOCOLS:
        options = [set(line.split()[3].split(",")) for line in recipe(protocol=protocol).fstab]
        assert options and all({"_netdev", "nofail"} <= one for one in options), protocol


def test_a_checkpoint_is_seen_by_other_nodes_at_once() -> None:
    options = {one.option for one in recipe("checkpoint").options}
    assert "lookupcache=positive" in options
    assert not any(one.startswith(("acdir", "actimeo")) for one in options)


def test_smb_uses_posix_extensions_only_where_nfs_does_not_see_the_tree() -> None:
    shared = {one.option for one in recipe("training", "smb-multichannel").options}
    alone = {one.option for one in recipe("training", "smb-multichannel", SMB_ONLY).options}
    assert "posix" not in shared and "posix" in alone
    assert "closetimeo=5" not in shared and "closetimeo=5" in alone


def test_a_password_is_nowhere_in_a_recipe() -> None:
    made = recipe("training", "smb-multichannel", user="AD\\alice")
    (credentials,) = made.files
    assert credentials.mode == "0600"
    assert credentials.text == "username=alice\ndomain=AD\npassword=\n"
    assert "password" not in " ".join([*made.fstab, *made.commands])


def test_a_read_only_share_is_mounted_read_only() -> None:
    for protocol in PROTOCOLS:
        assert "ro" in recipe(protocol=protocol, served=replace(TRAIN, read_only=True)).fstab[0].split()[3].split(",")


def test_what_an_export_demands_is_in_the_options_and_in_what_is_expected() -> None:
    shown = Tls(certificate(addresses=["10.0.0.2"]), None)
    made = recipe(served=replace(TRAIN, sec="krb5p", xprtsec="mtls", tls=shown))
    assert "sec=krb5p,xprtsec=mtls" in made.fstab[0]
    assert made.expect.options["sec"] == "krb5p"
    assert made.expect.encrypted


def test_expected_options_are_spelled_as_the_kernel_prints_them() -> None:
    assert recipe("dataloader").expect.options["lookupcache"] == "pos"
    assert "trunkdiscovery" not in recipe("training", "nfs-tcp-trunked").expect.options
    smb = recipe("checkpoint", "smb-multichannel").expect.options
    assert smb["seal"] == "" and smb["max_channels"] == "8" and "multichannel" not in smb
    assert "credentials" not in smb
