# SPDX-License-Identifier: Apache-2.0
"""Runs on the client: opens a file over SMB with the access that Windows asks for, which the kernel's client does not.

    python3 opens.py HOST SHARE CREDENTIALS NAME ACCESS...

ACCESS is a number in hexadecimal ([MS-SMB2] 2.2.13.1.1). Prints `ok` or the NT status for each, one a line.
"""

import sys

from samba import NTSTATUSError
from samba.credentials import Credentials
from samba.samba3 import libsmb_samba_internal, param

EVERYONE, EXISTING = 0x7, 0x1


def main(host: str, share: str, file: str, name: str, *wanted: str) -> None:
    settings = param.get_context()
    settings.load("/dev/null")
    with open(file) as lines:
        known = dict(line.rstrip("\n").split("=", 1) for line in lines)
    credentials = Credentials()
    credentials.guess(settings)
    credentials.set_username(known["username"])
    credentials.set_password(known["password"])
    connection = libsmb_samba_internal.Conn(host, share, settings, credentials)
    for access in wanted:
        try:
            connection.close(
                connection.create(name, DesiredAccess=int(access, 16), ShareAccess=EVERYONE, CreateDisposition=EXISTING)
            )
            print("ok")
        except NTSTATUSError as error:
            print(f"{error.args[0] & 0xFFFFFFFF:08x}")


if __name__ == "__main__":
    main(*sys.argv[1:])
