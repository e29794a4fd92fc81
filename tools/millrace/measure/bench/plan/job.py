# SPDX-License-Identifier: Apache-2.0
"""One repeat of one workload as fio's job file, or as the command line of a load that fio cannot make. Pure."""

from dataclasses import dataclass
from pathlib import Path

from millrace.measure.bench.plan.sizes import Files
from millrace.measure.bench.plan.workloads import Work

OWN = "millrace"
"""The engine of what fio cannot do."""
PERCENTILES = "50:95:99:99.9"


@dataclass(frozen=True)
class Target:
    """What a rung measures: a directory, or block devices with their names. `mount` is the mount point of a protocol.

    Each of `copies` clients has files of its own; `copy` is the number of this one.
    """

    directory: Path | None = None
    copies: int = 1
    copy: int = 0
    devices: tuple[tuple[str, str], ...] = ()
    mount: str | None = None
    write_devices: bool = False
    offset: int = 0


@dataclass(frozen=True)
class FioJob:
    """Everything that a repeat depends on. `seconds` is None for work of a given amount."""

    work: Work
    target: Target
    jobs: int
    files: Files
    seconds: float | None
    create_only: bool = False


def job_file(job: FioJob) -> str:
    """Return fio's job file: one section for all jobs on files, or a section for each device, with its name."""
    work, options = job.work, dict(job.work.options)
    # libaio and the file engines are the work's; a layout is written by the plainest one
    lines = ["[global]", f"ioengine={'psync' if job.create_only else work.engine}"]
    lines += [f"{name}={value}" for name, value in options.items()]
    lines += [f"percentile_list={PERCENTILES}", "randrepeat=1", "allow_mounted_write=0"]
    if job.create_only:
        lines += ["create_only=1"]
    elif job.seconds is not None:
        lines += ["time_based=1", f"runtime={job.seconds:g}"]
    if job.target.devices:
        size = [f"offset={job.target.offset}", f"size={job.files.most}"] if job.target.write_devices else []
        for name, path in job.target.devices:
            lines += [f"[{name}]", f"filename={path}", *size]
        return "\n".join(lines) + "\n"
    files = job.files
    extent = f"{files.least}" if files.least == files.most else f"{files.least}-{files.most}"
    lines += [
        f"directory={directory_of(job)}",
        "filename_format=f.$jobnum.$filenum",
        f"numjobs={job.jobs}",
        f"nrfiles={files.per_job}",
        f"filesize={extent}",
        f"[{work.profile}]",
    ]
    return "\n".join(lines) + "\n"


def own_program(job: FioJob, directory: Path) -> list[str]:
    """Return name and arguments of a load that fio cannot make."""
    if job.work.operation == "train":
        return ["au", str(directory), job.work.profile, "--seconds", f"{job.seconds or 0:g}"]
    amounts = (job.jobs, job.files.per_job, job.files.most, job.seconds or 0)
    tier = (job.work.tier,) if job.work.tier else ()
    return ["kvcache", str(directory), *map(str, (*amounts, *tier))]


def directory_of(job: FioJob) -> Path:
    """Return the directory of a job that works on files."""
    assert job.target.directory is not None
    return job.target.directory / folder(job.work, job.target.copy)


def folder(work: Work, copy: int) -> str:
    """Return the name of the directory of a workload's files; `copy` is the number of the client's own set."""
    return work.layout if copy == 0 else f"{work.layout}.{copy}"
