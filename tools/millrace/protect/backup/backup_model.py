# SPDX-License-Identifier: Apache-2.0
"""A backup of a share: its target without secrets, how the last runs, checks and drills ended, and the job."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from millrace.protect.backup.backup_rules import backup_id, backup_name, target_host, target_path, user_name
from millrace.system.documents import Contract, Count
from millrace.system.names import share_name

Protocol = Literal["s3", "sftp", "rest"]
BackupTask = Literal["run", "check", "drill", "restore"]
Hours = Annotated[int, Field(ge=1, le=24 * 366)]
Kept = Annotated[int, Field(ge=0, le=1000)]

DAY = 24


class BackupTarget(Contract):
    """Where a repository is; no part of it is secret.

    `path` is absolute for SFTP, BUCKET/PREFIX for S3. `user` signs in: the account of SFTP or of the REST server, or
    the ID of an S3 key. `tls` is whether the connection is encrypted by TLS.
    """

    protocol: Protocol
    host: Annotated[str, AfterValidator(target_host)]
    port: Annotated[int, Field(gt=0, lt=1 << 16)]
    path: Annotated[str, target_path]
    user: Annotated[str, user_name] | None = None
    tls: bool = True


class BackupRetention(Contract):
    """How many versions are kept by period; the newest one always is."""

    daily: Kept = 14
    weekly: Kept = 8
    monthly: Kept = 12


class Backup(Contract):
    """A backup of `share`, as an administrator decided.

    A run is due every `every` hours, a check of the repository every `check_every`, a drill every `drill_every` hours.
    `append_only`: the target lets this server add and not remove, so retention is the task of its administrator.
    `limit` is the most bytes a second that are sent; null without one. `host_key` is the fingerprint of the SFTP
    server. `attached`: the repository existed before. `id` names it in the repository.
    """

    name: Annotated[str, backup_name]
    id: Annotated[str, backup_id]
    share: Annotated[str, share_name]
    target: BackupTarget
    every: Hours = DAY
    check_every: Hours = 7 * DAY
    drill_every: Hours = 7 * DAY
    retention: BackupRetention = Field(default_factory=BackupRetention)
    append_only: bool = False
    limit: Count | None = None
    host_key: str | None = None
    attached: bool = False
    paused: bool = False
    by: str = ""
    at: str = ""


class Backups(Contract):
    """All backups of this server."""

    schema_version: Literal[1] = 1
    backups: list[Backup] = Field(default_factory=list)


class BackupMoved(Contract):
    """What a run moved: files of the snapshot, those that were read, and bytes that were sent.

    `unread` files and directories of the snapshot could not be read, and are not in the version.
    """

    files: Count
    read: Count
    bytes: Count
    sent: Count
    seconds: Count
    unread: Count = 0


class BackupOutcome(Contract):
    """How the last task of a kind ended. Times are ISO 8601 in UTC; `problem` is null where it succeeded.

    `succeeded` is when it last did, `failures` how often it failed since then. `red`: what was read back was wrong, or
    could not be decrypted, so the repository or the pool is damaged.
    """

    at: str
    succeeded: str | None = None
    problem: str | None = None
    failures: Count = 0
    red: bool = False


class BackupState(Contract):
    """What is known of a backup; `name` and `id` are those of its decision.

    `snapshot` is the one of the share that was backed up last, and `version` its ID in the repository; the next run
    compares with both. `made`: the repository exists.
    """

    name: str
    id: str
    made: bool = False
    snapshot: str | None = None
    version: str | None = None
    moved: BackupMoved | None = None
    run: BackupOutcome | None = None
    check: BackupOutcome | None = None
    drill: BackupOutcome | None = None


class BackupRecord(Contract):
    """What is known of all backups."""

    schema_version: Literal[1] = 1
    states: list[BackupState] = Field(default_factory=list)


class BackupAttempt(Contract):
    """A task of the backup with the ID `backup` that was started `count` times, last at `at`, and no end recorded."""

    backup: str
    task: BackupTask
    at: str
    count: Count


class BackupAttempts(Contract):
    """The tasks whose end is not recorded, since the server was started."""

    schema_version: Literal[1] = 1
    attempts: list[BackupAttempt] = Field(default_factory=list)


class BackupOrder(Contract):
    """What the unit is to do. `version` and `target` are those of a restore: an ID in the repository."""

    id: str
    backup: str
    task: BackupTask
    by: str
    version: str | None = None


class BackupProgress(Contract):
    """How far a task is: bytes of all; `total` is null where that is not known. `step` names the part of it."""

    schema_version: Literal[1] = 1
    backup: str
    task: BackupTask
    step: str
    done: Count = 0
    total: Count | None = None
    seconds_left: Count | None = None


class BackupEnd(Contract):
    """How a task ended that did what it should, in words for people."""

    schema_version: Literal[1] = 1
    id: str
    backup: str
    task: BackupTask
    words: list[str]


BackupLine = BackupProgress | BackupEnd


class BackupRow(Contract):
    """A backup with what is known of it.

    `age` is in seconds since the last success, null where there was none. `due` is what is due now.
    """

    schema_version: Literal[1] = 1
    backup: Backup
    state: BackupState
    age: Count | None
    due: BackupTask | None


class BackupList(Contract):
    """The backups of this server."""

    schema_version: Literal[1] = 1
    backups: list[BackupRow]


class BackupAdded(Contract):
    """A backup that was added. `password` opens the repository: it is in this answer and nowhere else.

    Null where it was typed. `public_key` has to be installed on an SFTP server, whose host key has the fingerprint
    `backup.host_key`.
    """

    schema_version: Literal[1] = 1
    backup: Backup
    password: str | None
    public_key: str | None


class BackupPaused(Contract):
    """A backup whose tasks start by themselves or do not; one that was removed is paused for ever."""

    schema_version: Literal[1] = 1
    name: str
    paused: bool


class BackupPassword(Contract):
    """The password of a repository, which was shown on request."""

    schema_version: Literal[1] = 1
    name: str
    password: str


class BackupVersion(Contract):
    """A version in the repository: its ID, the share and the snapshot, when it was made (ISO 8601), and its size."""

    id: str
    share: str
    snapshot: str
    time: str
    files: Count
    bytes: Count


class BackupVersions(Contract):
    """The versions in a repository, the oldest first."""

    schema_version: Literal[1] = 1
    name: str
    versions: list[BackupVersion]
