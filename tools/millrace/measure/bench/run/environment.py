# SPDX-License-Identifier: Apache-2.0
"""The server and its software as they were during a run. Reads only."""

import platform
import socket
from collections.abc import Sequence

from millrace.inventory.model import PcieLink
from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.result.environment import DriveFact, Environment, PortFact
from millrace.measure.bench.run.guard import hypervisor
from millrace.storage.array.devices import array_device, block
from millrace.system import paths, sysfs
from millrace.system.run import Runner

PACKAGES = ("fio", "samba", "nfs-kernel-server", "mdadm", "xfsprogs", "cifs-utils")
MD = ("md/group_thread_cnt", "md/stripe_cache_size", "md/chunk_size", "md/bitmap/location", "queue/read_ahead_kb")
NFSD = ("threads", "max_block_size", "versions")


def environment(site: Site, run: Runner) -> Environment:
    """Return what is needed to judge, or repeat, the figures."""
    seen = site.inventory
    data, log = ({drive.serial for drive in group} for group in (site.data, site.log))
    return Environment(
        host=socket.gethostname(),
        product=sysfs.text(paths.ROOT / "sys/class/dmi/id/product_name") or "unknown",
        kernel=platform.release(),
        cpu=seen.cpu_model,
        sockets=seen.sockets,
        cores=site.cores,
        memory=seen.memory,
        virtual=hypervisor(run),
        plan_sha256=site.pool.plan_sha256,
        pool=site.title,
        drives=[
            DriveFact(
                serial=drive.serial,
                model=drive.model,
                firmware=drive.firmware,
                size=drive.size,
                role="data" if drive.serial in data else "log" if drive.serial in log else "none",
                link=_link(drive.link),
                temperature=drive.temperature,
            )
            for drive in [*site.data, *site.log]
        ],
        ports=[
            PortFact(
                name=nic.name,
                driver=nic.driver,
                speed=nic.speed,
                carrier=nic.carrier,
                rdma=nic.rdma_device,
                link=_link(nic.link),
            )
            for nic in seen.nics
        ],
        clients=[client.facts for client in site.clients],
        packages=packages(run),
        settings=_settings(site),
    )


def packages(run: Runner, names: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of the packages that are measured, by name; those that are not installed are omitted."""
    lines = run(["dpkg-query", "--show", "--showformat=${Package}=${Version}\\n", *names]).out.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _settings(site: Site) -> dict[str, str]:
    found: dict[str, str | None] = {}
    for record in site.pool.arrays:
        directory = block(array_device(record.array.name) or "none")
        found |= {f"{record.array.name}:{name}": sysfs.text(directory / name) for name in MD}
    found |= {f"nfsd:{name}": sysfs.text(paths.ROOT / "proc/fs/nfsd" / name) for name in NFSD}
    for key in site.sysctl:
        found[key] = sysfs.text(paths.ROOT / "proc/sys" / key.replace(".", "/"))
    found["sunrpc:pool_mode"] = sysfs.text(paths.ROOT / "sys/module/sunrpc/parameters/pool_mode")
    return {name: value for name, value in found.items() if value is not None}


def _link(link: PcieLink | None) -> str | None:
    return f"{link.speed:g} GT/s ×{link.width}" if link else None
