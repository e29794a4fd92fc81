# SPDX-License-Identifier: Apache-2.0
"""The account that verifies whether shares open over SMB: a local user without shell or home.

It has a random SMB password, for the seconds of a verification only.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from millrace.serve.config.model import Domain
from millrace.serve.share.smb_parameters import CHECKER
from millrace.system.files import secret_file
from millrace.system.run import Runner, must
from millrace.system.smb_passwords import SMBPASSWD, set_smb_password


@contextmanager
def account(domain: Domain | None, run: Runner) -> Iterator[str]:
    """Return the path of a credentials file that only root reads; the account is removed afterwards."""
    if run(["getent", "passwd", CHECKER]).status != 0:
        must(run, ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", CHECKER])
    password = secrets.token_urlsafe(32)
    set_smb_password(CHECKER, password, run)
    try:
        with secret_file(_credentials(password, domain)) as path:
            yield path
    finally:
        drop(run)


def drop(run: Runner) -> None:
    """Remove the SMB account where there is one, also with a broken smb.conf."""
    run([*SMBPASSWD, "-x", CHECKER])


def _credentials(password: str, domain: Domain | None) -> str:
    # mount.cifs takes a blank after the sign for a part of the value; smbclient does not mind
    lines = f"username={CHECKER}\npassword={password}\n"
    # A member asks the domain for every name that is not marked as one of this server.
    return lines if domain is None else f"{lines}domain={domain.machine}\n"
