# SPDX-License-Identifier: Apache-2.0
"""Where the job of each kind is; its room is imported when it is asked for."""

from importlib import import_module

from millrace.system.jobs.job import Job
from millrace.system.jobs.kinds import JobName

MODULES: dict[JobName, str] = {
    "provision": "millrace.storage.provision.provision_job",
    "drive-change": "millrace.storage.change.change_job",
    "erase": "millrace.storage.erase.erase_job",
    "drive-test": "millrace.storage.drive_test.testing_job",
    "rescue": "millrace.storage.rescue.rescue_job",
    "revive": "millrace.storage.rescue.revive_job",
    "adopt": "millrace.lifecycle.adopt.adopt_job",
    "clone": "millrace.serve.clone.clone_job",
    "copy": "millrace.serve.clone.copy_job",
    "snapshot": "millrace.protect.snapshot.snapshot_job",
    "replica": "millrace.protect.replica.replica_job",
    "backup": "millrace.protect.backup.backup_job",
    "permissions": "millrace.serve.permissions.permissions_job",
    "benchmark": "millrace.measure.bench.run.bench_job",
    "tuner": "millrace.measure.tuner.run.tuner_job",
    "update-download": "millrace.lifecycle.update.download_job",
    "update": "millrace.lifecycle.update.update_job",
    "scrub": "millrace.storage.scrub.scrub_job",
    "damaged-files": "millrace.storage.scrub.damaged_files_job",
    "unclean": "millrace.storage.unclean.unclean_job",
    "trim": "millrace.storage.trim.trim",
    "reset": "millrace.lifecycle.reset.reset_job",
    "destroy": "millrace.lifecycle.destroy.destroy_job",
}
"""The module of each kind; the job is its `JOB`."""


def job(name: JobName) -> Job:
    """Return the job of a kind."""
    found: Job = import_module(MODULES[name]).JOB
    return found
