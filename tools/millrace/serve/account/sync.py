# SPDX-License-Identifier: Apache-2.0
"""A password that was changed with passwd or in the web console is also that of SMB: called by pam_exec(8)."""

import os
from typing import BinaryIO

from millrace.serve.account.password import checked_password
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN
from millrace.system.errors import BadInput
from millrace.system.run import Runner
from millrace.system.smb_passwords import reload_direct, set_smb_password

# As much as PAM hands on at most (PAM_MAX_RESP_SIZE).
LONGEST = 512


def sync(source: BinaryIO, run: Runner) -> bool:
    """Read the new password from `source` and set it for SMB; return False for users without SMB.

    BadInput: PAM did not start it, or the password is not valid.
    """
    if os.environ.get("PAM_TYPE") != "password" or "PAM_USER" not in os.environ:
        raise BadInput("internal command of PAM; use millrace user passwd")
    name = os.environ["PAM_USER"]
    if name != ADMIN and store.load().user(name) is None:
        return False
    password = source.read(LONGEST).rstrip(b"\0\n").decode(errors="strict")
    set_smb_password(name, checked_password(password), run)
    reload_direct(run)
    return True
