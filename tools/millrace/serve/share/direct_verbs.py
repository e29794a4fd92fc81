# SPDX-License-Identifier: Apache-2.0
"""`millrace share smb-direct-users`, for the unit of the kernel's SMB server."""

import click


@click.command("smb-direct-users", hidden=True)
def users() -> None:
    """Write the users that the kernel's SMB server knows (started by millrace-smb-direct.service)."""
    from millrace.serve.config import store
    from millrace.serve.share.direct.configuration import write_users
    from millrace.system.run import quickly
    from millrace.system.users import only_root

    only_root()
    write_users(store.load(), quickly)
