# SPDX-License-Identifier: Apache-2.0
"""Whether releases are withheld: one that has expired is offered as the newest, or the way to it is not protected."""

from datetime import timedelta

from millrace.lifecycle.update import records, release
from millrace.lifecycle.update.model import CheckedSource, Release
from millrace.system import ages
from millrace.system.errors import BadInput
from millrace.system.os_release import image_version


def of_release(found: Release) -> list[str]:
    """Return what makes the newest release of its source doubtful; nothing of one without a date."""
    return _expired(CheckedSource(version=found.version, expires=found.expires, at=records.now()))


def of_source(url: str | None) -> list[str]:
    """Return what is wrong with the source of updates and with what it offered at the last check."""
    warnings = []
    if url is not None and url.startswith("http://"):
        warnings.append(
            "the source of updates uses http: the network can withhold new releases and sees what is downloaded; "
            "use an https URL"
        )
    try:
        checked = records.checked_source() if url is not None else None
    except BadInput:
        # root alone reads it
        checked = None
    return [*warnings, *(_expired(checked) if checked else [])]


def _expired(checked: CheckedSource) -> list[str]:
    # An offer from before this version was installed, or of a clock that was wrong: the next check decides.
    if release.number(image_version()) > release.number(checked.version) or ages.age(checked.at) is None:
        return []
    # By the clock of the check: an owner who checks once a year is not warned of what was good then.
    if checked.expires is None or ages.until(checked.expires, checked.at) >= timedelta():
        return []
    return [
        f"version {checked.version} expired on {checked.expires[:10]} and was offered as the newest on "
        f"{checked.at[:10]}: later releases may be withheld; compare with the publisher; check the clock"
    ]
