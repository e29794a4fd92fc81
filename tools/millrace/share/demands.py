# SPDX-License-Identifier: Apache-2.0
"""What a share requires of the domain: that its users and groups exist, that Kerberos has a key."""

from millrace.membership import accounts, keys
from millrace.share.model import Share
from millrace.system.run import Runner


def refuse_unmet(share: Share, run: Runner) -> None:
    """Verify what the share requires of the domain. Refused: it could not be served to those whom it names."""
    if share.smb is not None:
        accounts.refuse_unknown(share.smb.users, share.smb.groups, run)
    if share.kerberos:
        keys.refuse_without_key(share.name, run)
