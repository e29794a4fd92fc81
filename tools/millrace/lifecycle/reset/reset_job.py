# SPDX-License-Identifier: Apache-2.0
"""A factory reset as a job: it ends with the restart of the server, and its journal is its order."""

from millrace.system.jobs import kinds
from millrace.system.jobs.job import Job

JOB = Job(
    kind=kinds.RESET,
    busy="a factory reset of this server is under way: nothing is changed any more; see `millrace reset show`",
    stop="a factory reset is not cancelled: the server restarts at once",
    glance=lambda: None,
)
