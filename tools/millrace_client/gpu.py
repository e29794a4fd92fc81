# SPDX-License-Identifier: Apache-2.0
"""Check whether GPUs of this client read a mounted share directly, or through its memory without saying so."""

from __future__ import annotations

import json
import os
import pkgutil
from typing import TYPE_CHECKING, Any

from millrace_client import gpu_devices, gpu_tools
from millrace_client.finding import FAIL, OK, UNSEEN, WARN, Finding

if TYPE_CHECKING:
    from millrace_client.this_client import System

MAKERS = {"nvidia": "NVIDIA", "amd": "AMD"}
REGISTERS = "rpcrdma_register_nvfs_dma_ops"
# Data of these is touched by the CPU: it cannot land in a GPU.
TOUCHED = ("krb5i", "krb5p")
MIB = 1 << 20
READ = 64 * MIB
LOOKED_AT = 2000
"""Entries of the mount that are looked at for a file to read."""


def traps(maker: str) -> list[dict[str, Any]]:
    """Return the versions of a maker's drivers that do not work; the list came with this program."""
    known = json.loads(pkgutil.get_data("millrace_client", "gpu_traps.json") or b"{}")
    return [one for one in known["traps"] if one["gpu"] == maker]


def needed(component: str) -> dict[str, Any]:
    """Return the version of a driver that is needed at least."""
    known = json.loads(pkgutil.get_data("millrace_client", "gpu_traps.json") or b"{}")
    return next(dict(one) for one in known["needs"] if one["component"] == component)


def examine(maker: str, where: str, options: dict[str, str], interface: str, system: System) -> list[Finding]:
    """Return the findings for GPUs of a maker; `options` are the mount's, `interface` leads to the server."""
    findings = [check_transport(options, interface, system)]
    there = gpu_devices.gpus(system, maker)
    if there:
        names = ", ".join(device.address for device in there)
        findings.append(Finding("gpu", OK, f"{MAKERS[maker]} {names}"))
    else:
        text = f"no GPU of {MAKERS[maker]} on this client: drivers, distance and the direct path cannot be seen"
        findings.append(Finding("gpu", UNSEEN, text, "run this on the node with the GPUs"))
    findings += _nvidia(where, bool(there), system) if maker == "nvidia" else _amd(where, bool(there), system)
    nics = gpu_devices.ports(system, interface) if interface else []
    if there and not nics:
        text = f"{interface or 'the interface to the server'} has no PCI device"
        findings.append(Finding("distance", UNSEEN, text, "see where its port is: ip -d link show"))
    elif there:
        findings += [gpu_devices.check_distance(device, nics) for device in there]
    if there:
        findings.append(gpu_devices.check_iommu(system, [*there, *nics]))
    return findings


def check_transport(options: dict[str, str], interface: str, system: System) -> Finding:
    """Check that the data comes by RDMA of hardware, untouched by the CPU."""
    recipe = "umount, and mount with the recipe: millrace client recipe --gpu"
    proto = options.get("proto", "unknown")
    if not proto.startswith("rdma"):
        return Finding("direct", FAIL, f"the mount uses {proto}: every byte goes through host memory", recipe)
    if options.get("sec") in TOUCHED:
        text = f"sec={options['sec']}: the CPU verifies every byte, so none goes to a GPU directly"
        return Finding("direct", FAIL, text, "use a share with sec=sys or sec=krb5")
    if options.get("xprtsec", "none") != "none":
        text = f"xprtsec={options['xprtsec']}: the CPU decrypts every byte, so none goes to a GPU directly"
        return Finding("direct", FAIL, text, "use a share without TLS in a network of its own")
    if interface and gpu_devices.software_rdma(system, interface):
        text = f"RDMA of {interface} is made by the CPU (rxe): nothing goes to a GPU directly"
        return Finding("direct", FAIL, text, "mount over a port with RDMA hardware: rdma link show")
    return Finding("direct", OK, f"RDMA, sec={options.get('sec', 'sys')}")


def _nvidia(where: str, there: bool, system: System) -> list[Finding]:
    module = gpu_tools.nvidia_fs_version(system)
    findings = [_driver(system, there)]
    registered = "rpcrdma" in (system.read(gpu_tools.NVFS + "modules") or "")
    if module is None:
        status = FAIL if there else UNSEEN
        fix = "install nvidia-gds after DOCA-OFED, then modprobe nvidia_fs"
        findings.append(Finding("nvidia-fs", status, "not loaded: cuFile reads through host memory", fix))
    else:
        findings += _version("nvidia", "nvidia-fs", module)
        said = "rpcrdma is registered with nvidia-fs" if registered else "rpcrdma is not registered with nvidia-fs"
        fix = "" if registered else "modprobe rpcrdma of DOCA-OFED before nvidia_fs; see the findings below"
        findings.append(Finding("registered", OK if registered else FAIL, said, fix))
    ofed = gpu_tools.ofed_version(system)
    if ofed:
        findings += _version("nvidia", "ofed", ofed)
    elif not registered:
        findings.append(_trap("nvidia", "no-ofed", "ofed", FAIL if there else UNSEEN))
    return [
        *findings,
        _kernel_log(system),
        *_gdscheck(system),
        *_cufile(where, there, system),
        _path(where, system),
    ]


def _driver(system: System, there: bool) -> Finding:
    text = system.read("proc/driver/nvidia/version")
    if text is None:
        status = FAIL if there else UNSEEN
        return Finding("driver", status, "the driver of the GPUs is not loaded", "install nvidia-open and reboot")
    if "Open Kernel Module" not in text:
        return _trap("nvidia", "nvidia-closed", "driver", FAIL)
    return Finding("driver", OK, " ".join(text.splitlines()[0].split()))


def _version(maker: str, component: str, version: str) -> list[Finding]:
    """What the list says of a version: what is broken in it, or that it is too old."""
    known = [trap for trap in traps(maker) if trap["component"] == component]
    hit = [trap for trap in known if gpu_tools.within(version, trap["from"], trap["below"])]
    if hit:
        return [
            Finding(
                trap["id"],
                trap["status"],
                f"{component} {version}: {trap['problem']}",
                f"{trap['fix']} ({trap['source']}, {trap['date']})",
            )
            for trap in hit
        ]
    need = needed(component)
    if gpu_tools.within(version, None, need["at_least"]):
        fix = f"install {need['at_least']} or later ({need['source']})"
        return [Finding(component, FAIL, f"{version}, should be {need['at_least']} or later: {need['reason']}", fix)]
    return [Finding(component, OK, version)]


def _trap(maker: str, component: str, check: str, status: str) -> Finding:
    one = next(one for one in traps(maker) if one["component"] == component)
    return Finding(check, status, one["problem"], f"{one['fix']} ({one['source']}, {one['date']})")


def _kernel_log(system: System) -> Finding:
    text = system.run(["dmesg"])
    if text is None:
        return Finding("kernel log", UNSEEN, "dmesg cannot be read", "run this as root")
    if any("failing symbol_get of non-GPLONLY symbol" in line and REGISTERS in line for line in text.splitlines()):
        return _trap("nvidia", "kernel-log", "kernel log", FAIL)
    return Finding("kernel log", OK, "no refused symbols of rpcrdma")


def _gdscheck(system: System) -> list[Finding]:
    said = gpu_tools.supported(system)
    if said is None:
        return [Finding("gdscheck", UNSEEN, "gdscheck is not here or says nothing of NFS", "install gds-tools")]
    fix = "" if said else "see the findings on nvidia-fs, ofed and the kernel log"
    return [Finding("gdscheck", OK if said else FAIL, "NFS: " + ("Supported" if said else "Unsupported"), fix)]


def _cufile(where: str, there: bool, system: System) -> list[Finding]:
    shape = json.dumps({"fs": {"nfs": {"mount_table": {where: {"rdma_dev_addr_list": ["ADDRESS-OF-THIS-CLIENT"]}}}}})
    try:
        path, configuration = gpu_tools.cufile(system)
    except ValueError as error:
        return [
            Finding("cufile", FAIL, f"cuFile's configuration is not JSON: {error}", "correct it; cuFile stops there")
        ]
    fix = f"merge into {path}: {shape}"
    if configuration is None:
        return [Finding("cufile", FAIL if there else UNSEEN, f"{path} is not there", fix)]
    table = _at(configuration, "fs", "nfs", "mount_table")
    if table is None:
        return [Finding("cufile", FAIL, f"{path} has no fs.nfs.mount_table", fix)]
    addresses = _at(table, where, "rdma_dev_addr_list")
    if not isinstance(addresses, list) or not addresses or not all(isinstance(address, str) for address in addresses):
        return [Finding("cufile", FAIL, f"mount_table in {path} has no addresses for {where}", fix)]
    own = system.addresses()
    foreign = [address for address in addresses if own and address not in own]
    if foreign:
        text = f"mount_table in {path} names {', '.join(foreign)}, no address of this client"
        return [Finding("cufile", FAIL, text, f"name addresses of its RDMA ports: {', '.join(sorted(own))}")]
    return [Finding("cufile", OK, f"{where}: {', '.join(addresses)}")]


def _at(content: object, *keys: str) -> object:
    for key in keys:
        if not isinstance(content, dict) or key not in content:
            return None
        content = content[key]
    return content


def _path(where: str, system: System) -> Finding:
    """Read a file into a GPU, and see in the counters of the driver which way the data took."""
    before = gpu_tools.reads(system)
    if before is None:
        fix = "echo 1 > /sys/module/nvidia_fs/parameters/rw_stats_enabled"
        return Finding("path", UNSEEN, "nvidia-fs does not count reads: whether they are direct cannot be seen", fix)
    file = system.readable(where, MIB, LOOKED_AT)
    if file is None:
        return Finding(
            "path", UNSEEN, f"no file of 1 MiB or more in {where} to read", "put one there and run this again"
        )
    size = min(file[1], READ) // MIB
    command = ["-f", file[0], "-d", "0", "-w", "1", "-s", f"{size}M", "-i", "1M", "-I", "0", "-x", "0"]
    said = system.run([gpu_tools.CUDA_TOOLS + "gdsio", *command])
    if said is None:
        said = system.run(["gdsio", *command])
    after = gpu_tools.reads(system)
    if said is None or after is None:
        return Finding("path", UNSEEN, "gdsio is not here or failed: no read into a GPU was made", "install gds-tools")
    name = os.path.basename(file[0])
    if after.failed > before.failed:
        text = f"{after.failed - before.failed} direct reads of {name} failed"
        return Finding("path", FAIL, text, "see dmesg and cufile.log")
    if after.good <= before.good:
        text = f"{size} MiB of {name} were read, and nvidia-fs served none of it: it fell back to host memory"
        return Finding("path", FAIL, text, "correct the findings above; allow_compat_mode=false makes it an error")
    return Finding("path", OK, f"{size} MiB of {name}: {after.good - before.good} direct reads")


def _amd(where: str, there: bool, system: System) -> list[Finding]:
    missing = FAIL if there else UNSEEN
    findings = []
    if not system.exists("sys/module/amdgpu"):
        findings.append(
            Finding("driver", missing, "amdgpu is not loaded", "install amdgpu-dkms 31.40 or later and reboot")
        )
    else:
        findings += _amdgpu(system)
    symbols = system.read("proc/kallsyms")
    if symbols is None:
        findings.append(Finding("kernel", UNSEEN, "/proc/kallsyms cannot be read", "run this as root"))
    elif "kfd_ais_rw_file" in symbols:
        findings.append(Finding("kernel", OK, "amdgpu can read files into GPUs (kfd_ais_rw_file)"))
    else:
        fix = "install amdgpu-dkms 31.40 or later and reboot"
        findings.append(Finding("kernel", missing, "amdgpu cannot read files into GPUs: no kfd_ais_rw_file", fix))
    said = gpu_tools.ais(system)
    if not said:
        findings.append(
            Finding("ais-check", UNSEEN, "ais-check is not here or says nothing", "install hipFile's tools")
        )
    for name, good in said.items():
        fix = "" if good else "install ROCm 7.4 or later with its amdgpu-dkms, and a kernel with CONFIG_PCI_P2PDMA"
        findings.append(
            Finding("ais-check " + name, OK if good else FAIL, "supported" if good else "not supported", fix)
        )
    if "HIPFILE_UNSUPPORTED_FILE_SYSTEMS" in (system.read("etc/environment") or ""):
        findings.append(_trap("amd", "hipfile", "environment", WARN))
    fix = (
        f"HIPFILE_UNSUPPORTED_FILE_SYSTEMS=true HIPFILE_ALLOW_COMPAT_MODE=false aiscp {where}/FILE {where}/COPY; "
        "it fails where the path is not direct"
    )
    text = "amdgpu has no counters of direct reads: whether they are direct cannot be seen from here"
    return [*findings, Finding("path", UNSEEN, text, fix)]


def _amdgpu(system: System) -> list[Finding]:
    version = (system.read("sys/module/amdgpu/version") or "").strip()
    # Modules of the kernel have no version, older releases that of the kernel which they were made for.
    if gpu_tools.numbers(version)[:1] < (20,):
        text = f"the release of amdgpu cannot be told from {version or 'the module: it is that of the kernel'}"
        return [Finding("amdgpu", UNSEEN, text, "dkms status amdgpu must say 31.40 or later")]
    return _version("amd", "amdgpu", version)
