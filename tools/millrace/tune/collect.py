# SPDX-License-Identifier: Apache-2.0
"""The settings as this server has them, in two stages: the number of queues decides which interrupts exist."""

from collections.abc import Callable

from millrace.plan.rebuild import GUARANTEED_SYNC
from millrace.plan.settings import Settings
from millrace.storage.record.model import Pool
from millrace.system import paths, sysfs
from millrace.system.run import Runner
from millrace.tune import ports, topology
from millrace.tune.arrays import array_settings, read_settings
from millrace.tune.coalescing import coalescing_settings
from millrace.tune.copy_from import copy_settings
from millrace.tune.knob import CoverKnob, Knob, Setting, mask
from millrace.tune.nfsd import io_settings, localio_settings, nfsd_settings
from millrace.tune.rebuild_speed import pace_settings
from millrace.tune.slots import slot_settings
from millrace.tune.smb import smb_settings
from millrace.tune.unmanaged import OTHERS, RINGS, given_back, with_all

Collected = tuple[list[Setting], list[str]]
Stage = Callable[[], Collected]

DEFAULTS = {"dev.raid.speed_limit_min": "1000", "dev.raid.speed_limit_max": "200000"}
WORKQUEUE = "sys/devices/virtual/workqueue/raid5wq/cpumask"


def stages(wanted: Settings, pool: Pool, run: Runner) -> list[Stage]:
    """Return the stages; each reads the server when it is called, after the one before it is set."""
    return [lambda: queues(wanted, run), lambda: everything_else(wanted, pool, run)]


def queues(wanted: Settings, run: Runner) -> Collected:
    """Return the number of queues of each data port, and its rings."""
    view = ports.read_ports(topology.cores(), run, wanted.ports)
    found = ports.queue_settings(view, wanted.ports, run)
    every = with_all(wanted).ports
    return [*found, *given_back(found, RINGS, lambda: ports.queue_settings(view, every, run))], []


def everything_else(wanted: Settings, pool: Pool, run: Runner) -> Collected:
    """Return slots, interrupts, arrays and their drives, sysctl, and the servers that run."""
    cores = topology.cores()
    view = ports.read_ports(cores, run, wanted.ports)
    of_arrays, warnings = array_settings(wanted.md, pool, wanted.members)
    settings = [
        *slot_settings(),
        *ports.core_settings(view, wanted.ports),
        *coalescing_settings(wanted.ports, view.ports, run),
        *of_arrays,
        *read_settings(wanted.degraded_reads),
        *pace_settings(wanted.md, pool, wanted.rebuild.least),
        *_workqueue([cpu for core in cores for cpu in core.cpus]),
        *sysctl_settings(wanted, pool),
        *nfsd_settings(wanted.nfsd, run),
        *io_settings(wanted.io),
        *localio_settings(wanted.nfsd),
        *copy_settings(wanted.nfsd, run),
        *smb_settings(view.ports, cores, run),
    ]
    every = with_all(wanted)

    def left() -> list[Setting]:
        of_members, _ = array_settings(wanted.md, pool, every.members)
        return [*coalescing_settings(every.ports, view.ports, run), *of_members, *io_settings(every.io)]

    settings += given_back(settings, OTHERS, left)
    return settings, [*view.warnings, *ports.packet_losses(view), *warnings]


def _workqueue(cpus: list[int]) -> list[Setting]:
    """It is there when an array with parity is."""
    path = paths.ROOT / WORKQUEUE
    reason = "parity is computed on the node where the write arrives, so workers run on all nodes"
    return [CoverKnob(path, mask(cpus), reason)] if cpus and sysfs.text(path) else []


def sysctl_settings(wanted: Settings, pool: Pool) -> list[Setting]:
    """Return the sysctl values of this server, and the limits of a rebuild where Millrace does those."""
    limits = {
        "dev.raid.speed_limit_min": str(GUARANTEED_SYNC),
        "dev.raid.speed_limit_max": str(wanted.md.sync_speed_max),
    }
    settings = {**(limits if pool.backend == "md" else {}), **wanted.sysctl}
    reason = "computed for the memory and the drives of this server"
    return [
        Knob(paths.ROOT / "proc/sys" / key.replace(".", "/"), value, reason, DEFAULTS.get(key))
        for key, value in settings.items()
    ]
