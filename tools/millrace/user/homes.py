# SPDX-License-Identifier: Apache-2.0
"""The home directories of a new user, or of a new member of a group, on shares that exist."""

from millrace.errors import MillraceError
from millrace.share import directories
from millrace.state.model import Config


def make_homes(config: Config) -> None:
    """Create them where the pool is mounted; else the next rendering of the shares does."""
    if not any(one.profile == "home" for one in config.shares):
        return
    from millrace.share.server import this_server

    try:
        shares = this_server().shares(config)
    except MillraceError:
        return
    for share in shares:
        if share.profile == "home":
            directories.create(share)
