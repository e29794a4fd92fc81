# SPDX-License-Identifier: Apache-2.0
"""Protection as a document: the three lights of each share."""

from typing import Literal

from millrace.protect.light import Light
from millrace.system.documents import Contract


class ShareProtection(Contract):
    """The lights of a share: here, on a second server, off site."""

    share: str
    lights: list[Light]


class Protection(Contract):
    """The lights of all shares, or of one."""

    schema_version: Literal[1] = 1
    shares: list[ShareProtection]
