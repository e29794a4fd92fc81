# SPDX-License-Identifier: Apache-2.0
"""A connected NFS client as `millrace session list` has it."""

from millrace.serve.share.session import ClientSession


def nfs_session(name: str, open_files: int) -> ClientSession:
    return ClientSession(
        protocol="nfs",
        host="10.0.0.7",
        name=name,
        version="4.2",
        transport="tcp",
        lanes=1,
        slots=64,
        encryption=None,
        open_files=open_files,
    )
