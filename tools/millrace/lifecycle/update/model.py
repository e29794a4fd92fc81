# SPDX-License-Identifier: Apache-2.0
"""The documents of updates. Times are ISO 8601 in UTC."""

from typing import Annotated, Literal

from pydantic import Field

from millrace.system.documents import Contract, Count, Positive
from millrace.system.jobs.kinds import JobName

# A part of names of files and of labels of partitions (36 characters, `millrace_` included).
VERSION = r"[0-9]{1,8}(\.[0-9]{1,8}){0,4}"
Version = Annotated[str, Field(pattern=f"^{VERSION}$", max_length=26)]
Moment = Annotated[str, Field(pattern=r"^2[0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\+00:00$")]
Kind = Literal["usr", "usr-verity", "kernel", "news"]


class ReleaseFile(Contract):
    """One file of a release; `size` in bytes."""

    kind: Kind
    name: str
    size: Positive


class Release(Contract):
    """What a release consists of (`release.json` in its directory, covered by SHA256SUMS and its signature).

    `expires` is when a later release is there for certain: a source that offers this one as the newest afterwards may
    withhold it. Null in releases before there were dates.
    """

    schema_version: Literal[1] = 1
    image: str
    version: Version
    files: list[ReleaseFile]
    expires: Moment | None = None


class Source(Contract):
    """Where updates come from, as the owner of this server set it: a directory of a web server."""

    schema_version: Literal[1] = 1
    url: str | None = None


class CheckedSource(Contract):
    """The newest release that the source of updates offered at the last check."""

    schema_version: Literal[1] = 1
    version: Version
    expires: Moment | None
    at: str


class UpdateOrder(Contract):
    """What millrace-update.service is to install: the staged release, and who wants it.

    `older`, `again`, `degraded` and `end_locks` (of snapshots) allow what is refused otherwise. `reboot` is `now`,
    `later` or a time (HH:MM).
    """

    schema_version: Literal[1] = 1
    version: Version
    older: bool = False
    again: bool = False
    degraded: bool = False
    end_locks: bool = False
    reboot: Annotated[str, Field(pattern=r"^(now|later|([01][0-9]|2[0-3]):[0-5][0-9])$")] = "later"
    by: str


class DownloadOrder(Contract):
    """What millrace-update-download.service is to download: the version that is described in the staged files."""

    version: Version
    by: str


class PlannedReboot(Contract):
    """A planned reboot: its time, and kinds of jobs that do not prevent it.

    `deferred` is why the server did not reboot at that time and waits; null before.
    """

    schema_version: Literal[1] = 1
    at: str
    allowed: list[JobName] = Field(default_factory=list)
    deferred: str | None = None


class Fetch(Contract):
    """One file that millrace-update-fetch.service downloads, of at most `limit` bytes."""

    url: str
    limit: Positive


class Serving(Contract):
    """How this server serves: what a new version may not do worse.

    `arrays` are the members in sync of each array by name; `exported` are the directories that NFS exports.
    """

    pool: bool
    arrays: dict[str, Count]
    nfs: bool
    smb: bool
    exported: list[str]
    console: bool


class Trial(Contract):
    """A version that is installed and not accepted yet, and how the one before it served.

    `tries` counts its boots; `problems` is what was worse at the end of the last one.
    """

    schema_version: Literal[1] = 1
    version: Version
    before: Version
    at: str
    by: str
    serving: Serving
    tries: Count = 0
    problems: list[str] = Field(default_factory=list)


class FailedVersion(Contract):
    """A version that is not offered again, and why."""

    version: Version
    at: str
    problems: list[str]


class FailedVersions(Contract):
    """All versions that are not offered again, the newest last."""

    schema_version: Literal[1] = 1
    versions: list[FailedVersion] = Field(default_factory=list)


Outcome = Literal["installed", "accepted", "failed", "interrupted", "refused", "rolled-back"]


class LastUpdate(Contract):
    """How the last update ended.

    `failed`: it was started and did not serve; `interrupted`: it was not installed completely; `refused`: it was not
    installed, for the reason in `problems`; `rolled-back`: an administrator wants `before` to run again.
    """

    schema_version: Literal[1] = 1
    version: Version
    before: Version
    state: Outcome
    at: str
    by: str
    problems: list[str] = Field(default_factory=list)


class UpdateProgress(Contract):
    """The progress of an update: what it does, and bytes or percent done of all; null is not known."""

    schema_version: Literal[1] = 1
    step: str
    done: Count | None = None
    total: Count | None = None


class OtherVersion(Contract):
    """The version in the other slot. `tries_left` is how often it may still be started; null: as often as wanted."""

    version: Version
    tries_left: Count | None


class UpdateStatus(Contract):
    """The versions of this server.

    `trial` is the version that is installed and not accepted yet: it starts at the next boot, or runs now. `other` is
    null also where only root can see it. `refusal` is why no update can be installed at all. `reboot` is the time of a
    planned restart, and `reboot_deferred` why it waits after that time. `etc_kept` are files below /etc that were
    changed on this server and of which this version has another; `etc_problem` is why /etc is not as this version
    brings it. `warnings` say why the source of updates may withhold releases.
    """

    schema_version: Literal[1] = 1
    version: str
    other: OtherVersion | None
    trial: Trial | None
    last: LastUpdate | None
    failed: list[FailedVersion]
    url: str | None
    refusal: str | None
    reboot: str | None
    reboot_deferred: str | None
    etc_kept: list[str]
    etc_problem: str | None
    running: bool
    progress: UpdateProgress | None
    warnings: list[str] = Field(default_factory=list)


class KernelOption(Contract):
    """An option without which a version is not installed, and the reason."""

    option: Literal["older", "again", "degraded"]
    reason: str


class Offer(Contract):
    """A version that was found: what is new in it, and why it is not installed as it is.

    `refusal` names the option that allows it; `needs` are all options that are needed. Without any, a refusal is final.
    `size` is in bytes. `warnings` say why a later release may be withheld.
    """

    schema_version: Literal[1] = 1
    version: Version
    running: str
    size: Count
    news: str
    refusal: str | None
    needs: list[KernelOption] = Field(default_factory=list)
    expires: Moment | None = None
    warnings: list[str] = Field(default_factory=list)


class UploadLine(Contract):
    """The progress of an upload in bytes; the last line has the `offer`: what was uploaded and is verified."""

    schema_version: Literal[1] = 1
    received: Count
    size: Count
    offer: Offer | None = None
