# SPDX-License-Identifier: Apache-2.0
"""Names that NFS clients make are usable over SMB, and none hides another."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from millrace.serve.share.smb_names import trouble
from tests.vm.box import Box
from tests.vm.shares.words import HOST, nfs, smb
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

NAMES = [
    "Garden-2022-06-20_11:05:00.jpg",
    "a<b>.txt",
    "q?.txt",
    "pipe|x",
    "star*",
    'quote".txt',
    "back\\slash",
    "new\nline",
    "trail.",
    "blank ",
    "CON",
    "aux.h",
    "x" * 255,
    "\u00e9t\u00e9",
    "e\u0301te\u0301",
    "README",
    "readme",
    "latin-\udce9t\udce9",
    "\udcff\udcfe",
    "mac\uf022colon",
    "plain.txt",
]
GOOD = {name for name in NAMES if trouble(os.fsencode(name)) is None}
# Shown in another way: as 8.3 names.
WINDOWS = {name for name in NAMES if trouble(os.fsencode(name)) == "windows"}
HIDDEN = {name for name in NAMES if trouble(os.fsencode(name)) in ("encoding", "private")}
WRITE = """
import json, os, sys
where, names = json.load(sys.stdin)
os.makedirs(where, exist_ok=True)
for name in names:
    with open(os.path.join(where, name), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(name)
"""
LIST = "import json, os, sys; print(json.dumps(os.listdir(sys.argv[1])))"
TRY = Path(__file__).with_name("try_names.py").read_text()


def tried(client: Machine, share: str, what: str) -> Any:
    client.run("cat > /run/try_names.py", stdin=TRY)
    return json.loads(client.run(f"python3 /run/try_names.py {HOST} {share} /run/anna {what}", seconds=900).out)


def test_names_of_nfs_clients_are_read_renamed_and_deleted_over_smb(box: Box, client: Machine) -> None:
    uid = box.say("id -u anna")
    box.millrace("share create names --type mixed --smb-user anna", seconds=600)
    try:
        client.run("cat > /run/write.py", stdin=WRITE)
        with nfs(client, "names") as where:
            become = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
            client.run(f"{become} python3 /run/write.py", stdin=json.dumps([where, NAMES]), seconds=300)
        [report] = box.shown("share verify names --json")["shares"]
        assert report["problem"] is None
        counts = " ".join(report["files"])
        assert "not UTF-8" in counts and "(2)" in counts and "U+F001" in counts and "CON" in counts, counts

        with smb(client, "names") as where:
            seen = json.loads(client.run(f"python3 -c '{LIST}' {where}", seconds=300).out)
        # Linux shows what the names are
        assert set(seen) >= GOOD - {"back\\slash", "new\nline"} and len(seen) == len(NAMES) - len(HIDDEN)

        report = tried(client, "names", "all")
        assert set(report["listed"]) >= GOOD and len(report["listed"]) == len(NAMES) - len(HIDDEN)
        assert set(report["read"].values()) == set(NAMES) - HIDDEN
        assert all(
            report["read"][shown] == name
            for shown, name in zip(report["shown"], report["listed"], strict=True)
            if name in GOOD
        )
        assert len(report["renamed"]) == len(report["listed"]) and all(
            " renamed." in name for name in report["renamed"]
        )
        assert report["left"] == []
        with nfs(client, "names") as where:
            assert set(json.loads(client.run(f"python3 -c '{LIST}' {where}").out)) == HIDDEN
    finally:
        box.millrace("share remove names --delete-data names", seconds=600)


def test_name_that_smb_clients_make_is_itself_for_nfs_clients(box: Box, client: Machine) -> None:
    box.millrace("share create names --type mixed --smb-user anna", seconds=600)
    try:
        with smb(client, "names") as where:
            client.run(f"echo from smb > '{where}/11:05:00 what?.txt'")
        with nfs(client, "names") as where:
            assert client.run(f"ls {where}").out == "11:05:00 what?.txt\n"
    finally:
        box.millrace("share remove names --delete-data names", seconds=600)


def test_data_set_is_listed_whole_whatever_names_are_in_it(box: Box, client: Machine) -> None:
    box.millrace("share create names --type dataset-ro --smb-user anna", seconds=600)
    try:
        box.machine.run("cat > /run/write.py", stdin=WRITE)
        box.machine.run(["python3", "/run/write.py"], stdin=json.dumps(["/srv/pool/names", NAMES]))
        box.say("chmod -R a+rX /srv/pool/names")
        report = tried(client, "names", "read")
        # smbclient pads names with blanks
        shown = {name.rstrip(" ") for name in GOOD | WINDOWS}
        assert {name.rstrip(" ") for name in report["listed"]} == shown
        assert set(report["read"].values()) >= (GOOD | WINDOWS) - {"blank "}
    finally:
        box.millrace("share remove names --delete-data names", seconds=600)
