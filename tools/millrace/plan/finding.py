# SPDX-License-Identifier: Apache-2.0
"""What the audit finds about the hardware of a server."""

from enum import StrEnum

from millrace.inventory.model import Contract


class Severity(StrEnum):
    """INFO: good to know. WARN: it costs speed or safety. FAIL: it must not stay like this."""

    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


class Finding(Contract):
    """One thing that is not as it could be.

    `subject` is a drive's serial, a PCI address or a part of the server, never a kernel name; `what` does not repeat
    it, so that findings that differ in their subject only can be shown as one. `todo` says what a person can do.
    """

    name: str
    severity: Severity
    subject: str
    what: str
    todo: str
