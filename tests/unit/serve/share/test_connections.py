# SPDX-License-Identifier: Apache-2.0
"""SMB clients of one share and their open files, and how they are disconnected."""

import json
from typing import Any

import pytest

from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.share.connections import MOST_FILES, connections, disconnect
from millrace.serve.share.model import Share
from millrace.serve.share.smb_parameters import CHECKER
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.samples import Tools, resolved


def tree(share: str, session: str, pid: str) -> dict[str, Any]:
    since = "2026-11-29T17:18:08.121055+00:00"
    where = f"ipv4:10.0.0.{pid}:50000"
    return {"service": share, "session_id": session, "server_id": {"pid": pid}, "machine": where, "connected_at": since}


def opened(share: str, name: str, pid: str, writes: bool = False) -> dict[str, Any]:
    handle = {"server_id": {"pid": pid}, "uid": 0, "access_mask": {"WRITE_DATA": writes}}
    return {"service_path": f"/srv/pool/{share}", "filename": name, "opens": {f"{pid}/{name}": handle}}


def status(files: int = 2) -> dict[str, Any]:
    names = {"1": "lena", "2": "omar", "3": CHECKER}
    return {
        "sessions": {number: {"username": name} for number, name in names.items()},
        "tcons": {
            str(at): tree(*row) for at, row in enumerate([("lab", "1", "7"), ("other", "2", "8"), ("lab", "3", "9")])
        },
        "open_files": {
            **{f"/{at}": opened("lab", f"file{at}", "7", writes=at == 0) for at in range(files)},
            "/x": opened("laboratory", "no", "8"),
        },
    }


def share(direct: bool = False) -> Share:
    smb = {"users": ["admin"], "direct": direct}
    wanted = {"name": "lab", "project": 1001, "type": "mixed", "smb": smb, "nfs": {"enabled": False}}
    return resolved(Config(shares=[DesiredShare.model_validate(wanted)]))["lab"]


def answers(document: dict[str, Any]) -> dict[str, Result]:
    return {"smbstatus --json": Result(0, json.dumps(document), "")}


def test_clients_and_files_of_one_share() -> None:
    found = connections(share(), Tools(answers(status())))
    (client,) = found.clients
    assert (client.user, client.host, client.files) == ("lena", "10.0.0.7", 2)
    assert [(file.path, file.user, file.writing) for file in found.files] == [
        ("file0", "root", True),
        ("file1", "root", False),
    ]


def test_open_files_are_counted_and_not_all_named() -> None:
    found = connections(share(), Tools(answers(status(MOST_FILES + 5))))
    assert (found.open_files, len(found.files)) == (MOST_FILES + 5, MOST_FILES)


def test_without_root_nothing_is_taken_for_no_clients() -> None:
    with pytest.raises(Failed, match="requires root"):
        connections(share(), Tools({"smbstatus --json": Result(1, "", "smbstatus only works as root!\n")}))


def test_disconnecting_closes_the_share_for_all_its_clients() -> None:
    tools = Tools({**answers(status()), "smbcontrol smbd close-share lab": Result(0, "", "")})
    assert disconnect(share(), tools).clients == 1
    with pytest.raises(Refused, match="not served by Samba"):
        disconnect(share(direct=True), tools)
