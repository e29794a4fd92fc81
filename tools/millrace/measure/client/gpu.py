# SPDX-License-Identifier: Apache-2.0
"""Reads of a share straight into the memory of a GPU: what the client needs. The server needs nothing but RDMA."""

import json
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address
from typing import Any

from millrace.measure.client import sources
from millrace.measure.client.choices import Gpu, Protocol, RecipeWish
from millrace.measure.client.model import ClientFile, GpuSettings, Note, RecipeChoice, Trap
from millrace.measure.client.served import ServedShare
from millrace.system.command import command
from millrace.system.errors import BadInput, Refused
from millrace.system.text import shown
from millrace_client import source

CUFILE = "/etc/cufile.json"
PLACEHOLDER = "ADDRESS-OF-THIS-CLIENT"
# Data of these flavours is verified or decrypted by the client's CPU, so it lands in host memory first.
_TOUCHED = ("krb5i", "krb5p")


@cache
def _known() -> dict[str, list[dict[str, Any]]]:
    """The versions that are needed and those that do not work: the file that check.pyz has with it."""
    found: dict[str, list[dict[str, Any]]] = json.loads(source("gpu_traps.json"))
    return found


def refuse(served: ServedShare, wanted: RecipeWish) -> None:
    """Verify that a GPU can read the share directly. Refused: it cannot, with the reason."""
    if wanted.protocol and not wanted.protocol.is_rdma:
        raise Refused(f"{wanted.protocol} goes through host memory: with --gpu use nfs-rdma or nfs-rdma-trunked")
    if served.xprtsec:
        raise Refused(
            f"the share {served.name} requires TLS, which the client's CPU decrypts: GPUs cannot read it "
            "directly; use a share without TLS in a network of its own"
        )
    if served.sec in _TOUCHED:
        raise Refused(
            f"the share {served.name} requires sec={served.sec}, which the client's CPU verifies: GPUs cannot "
            "read it directly; use a share with sec=sys or sec=krb5"
        )


def best_protocol(served: ServedShare) -> Protocol:
    """Return the protocol for GPUs: a trunk where RDMA has several addresses of one family."""
    family = [one for one in served.rdma if one.version == served.rdma[0].version]
    return Protocol.NFS_RDMA_TRUNKED if len(family) > 1 else Protocol.NFS_RDMA


def settings(maker: Gpu, mountpoint: str, client_addresses: Sequence[str]) -> GpuSettings:
    """Return the settings for GPUs of a maker. BadInput: one of the client's addresses is none."""
    for address in client_addresses:
        _address(address)
    nvidia = maker is Gpu.NVIDIA
    return GpuSettings(
        maker=maker,
        needs=[
            RecipeChoice(
                option=f"{need['name']} {need['at_least']} or later", reason=need["reason"], source=need["source"]
            )
            for need in _known()["needs"]
            if need["gpu"] == maker
        ],
        merge=[_cufile(mountpoint, client_addresses)] if nvidia else [],
        environment=[] if nvidia else _HIPFILE,
        proof=_gdsio(mountpoint) if nvidia else _aiscp(mountpoint),
        traps=[
            Trap.model_validate({key: trap[key] for key in Trap.model_fields})
            for trap in _known()["traps"]
            if trap["gpu"] == maker
        ],
    )


def notes(wanted: RecipeWish) -> list[Note]:
    """Return what is left to the administrator of the client."""
    if not wanted.gpu:
        return []
    remarks = [
        Note(
            text="GPU and RDMA port belong on one PCIe switch, else on one socket, with the IOMMU off or in "
            f"passthrough mode (iommu=pt): {command('millrace client check-script --gpu', wanted.gpu)} "
            "verifies it on the client.",
            source=sources.NVFS_TOPOLOGY if wanted.gpu is Gpu.NVIDIA else sources.HIPFILE,
        ),
        Note(
            text="krb5i, krb5p and TLS are refused for GPUs: the client's CPU must touch the data.",
            source=sources.RDMA_PLACEMENT,
        ),
    ]
    if wanted.gpu is Gpu.NVIDIA and not wanted.client_addresses:
        text = f"Replace {PLACEHOLDER} by the addresses of the client's RDMA ports, or name them with --client-address."
        remarks.append(Note(text=text, source=sources.CUFILE))
    return remarks


def _address(text: str) -> None:
    try:
        ip_address(text)
    except ValueError:
        raise BadInput(f"{shown(text)} is not an address of the client: write it like 10.1.0.21") from None


def _cufile(mountpoint: str, client_addresses: Sequence[str]) -> ClientFile:
    # Any other shape stops cuFile: the mount point is a key of mount_table, the list is inside it.
    table = {mountpoint: {"rdma_dev_addr_list": list(client_addresses) or [PLACEHOLDER]}}
    text = json.dumps({"fs": {"nfs": {"mount_table": table}}}, indent=4)
    return ClientFile(path=CUFILE, mode="0644", text=f"{text}\n")


_HIPFILE = [
    RecipeChoice(
        option="HIPFILE_UNSUPPORTED_FILE_SYSTEMS=true",
        reason="hipFile's own list has ext4 and XFS only; set it for programs of this mount, never for the node",
        source=sources.HIPFILE,
    ),
    RecipeChoice(
        option="HIPFILE_ALLOW_COMPAT_MODE=true",
        reason="the default: a read that cannot be direct goes through host memory instead of failing",
        source=sources.HIPFILE,
    ),
]


def _gdsio(mountpoint: str) -> list[RecipeChoice]:
    file = f"{mountpoint}/FILE"
    return [
        RecipeChoice(
            option="/usr/local/cuda/gds/tools/gdscheck -p | grep NFS",
            reason="must report Supported",
            source=sources.CUFILE,
        ),
        RecipeChoice(
            option="echo 1 > /sys/module/nvidia_fs/parameters/rw_stats_enabled",
            reason="counts reads; /proc/driver/nvidia-fs/stats shows them",
            source=sources.NVFS,
        ),
        RecipeChoice(
            option=f"/usr/local/cuda/gds/tools/gdsio -f {file} -d 0 -w 8 -s 1G -i 1M -I 0 -x 0",
            reason="reads into the GPU; Reads n= of the statistics must grow, else it went through host memory",
            source=sources.NVFS,
        ),
        RecipeChoice(
            option=f"/usr/local/cuda/gds/tools/gdsio -f {file} -d 0 -w 8 -s 1G -i 1M -I 0 -x 2",
            reason="the same through host memory, to compare",
            source=sources.NVFS,
        ),
    ]


def _aiscp(mountpoint: str) -> list[RecipeChoice]:
    return [
        RecipeChoice(
            option="sudo ais-check",
            reason="kernel P2PDMA, HIP runtime and amdgpu must be True; it lists block devices only, not this mount",
            source=sources.HIPFILE,
        ),
        RecipeChoice(
            option="HIPFILE_UNSUPPORTED_FILE_SYSTEMS=true HIPFILE_ALLOW_COMPAT_MODE=false "
            f"aiscp {mountpoint}/FILE {mountpoint}/COPY",
            reason="fails where the path is not direct; the setting is for this proof only",
            source=sources.HIPFILE,
        ),
    ]
