# SPDX-License-Identifier: Apache-2.0
"""The installation of a release as a job: its order, its unit, and how far it is."""

from millrace.lifecycle.update import update_paths
from millrace.lifecycle.update.model import UpdateOrder, UpdateProgress
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import Document, Glance, Job

ORDER = Document(update_paths.order_file, UpdateOrder)
PROGRESS = Document(job_paths.update_progress_file, UpdateProgress)
"""Of the installation, and before it of the download or the upload."""


def progress() -> UpdateProgress | None:
    """Return the progress, with what has arrived of a file that is downloaded; None where it cannot be read."""
    now, incoming = PROGRESS.get(), update_paths.incoming_file()
    try:
        # A process without rights writes the file that is downloaded, and nothing else.
        more = incoming.stat().st_size if incoming.exists() else 0
    except OSError:
        return None
    return now if now is None or now.done is None else now.model_copy(update={"done": now.done + more})


def _glance() -> Glance | None:
    order, now = ORDER.get(), PROGRESS.get()
    if order is None or now is None:
        return None
    share = now.done / now.total if now.done is not None and now.total else None
    return Glance(f"version {order.version}: {now.step}", share)


JOB = Job(
    kind=kinds.UPDATE,
    busy="an update is under way; `millrace update status` shows it",
    stop="an installation is not cancelled: it takes minutes, and half a version is of no use; go back afterwards with "
    "`millrace update rollback`",
    glance=_glance,
    files=(ORDER,),
)
