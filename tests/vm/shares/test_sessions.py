# SPDX-License-Identifier: Apache-2.0
"""Who is connected, seen from the server while a client has both protocols open."""

import json
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.shares.words import PASSWORD
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models", "trunk")

HOLD = "exec 3<>{0}/held || exit 1; touch /tmp/{1}; sleep 600"


def test_clients_are_listed_with_connections_and_open_files(box: Box, client: Machine) -> None:
    ask = "client recipe --workload training --share models --user anna --json --protocol"
    nfs, smb = box.shown(f"{ask} nfs-tcp-trunked"), box.shown(f"{ask} smb-multichannel")
    # at another place: both recipes mount the share at its name
    smb = json.loads(json.dumps(smb).replace("/mnt/models", "/mnt/models-smb"))
    for file in smb["files"]:
        text = file["text"].replace("password=\n", f"password={PASSWORD}\n")
        client.run(f"umask 077; cat > {file['path']}", stdin=text)
    try:
        client.run(" && ".join([*nfs["commands"], *smb["commands"]]), seconds=600)
        uid = box.say("id -u anna")
        client.run(f"touch {smb['mountpoint']}/held")
        anna = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
        for mountpoint in (nfs["mountpoint"], smb["mountpoint"]):
            become = anna if mountpoint == nfs["mountpoint"] else ""
            unit = f"held-{Path(mountpoint).name}"
            client.run(f"systemd-run --quiet --unit={unit} {become} sh -c '{HOLD.format(mountpoint, unit)}'")
            client.wait_command(f"test -e /tmp/{unit}", f"{mountpoint}/held to be open", 120)
        # channels and lanes come after the mount
        box.machine.wait_command(
            f"test $(ss -Htn state established sport = :445 | wc -l) -ge {smb['expect']['lanes']}", "channels", 120
        )
        report = box.shown("session list --json")
        assert report["warnings"] == []
        by_protocol = {session["protocol"]: session for session in report["sessions"]}
        assert len(report["sessions"]) == 2, report
        over_nfs, over_smb = by_protocol["nfs"], by_protocol["smb"]
        assert over_nfs["host"] in CLIENT_ADDRESSES and over_smb["host"] in CLIENT_ADDRESSES
        assert (over_nfs["version"], over_nfs["transport"], over_nfs["lanes"]) == ("4.2", "tcp", nfs["expect"]["lanes"])
        assert over_nfs["slots"] > 0 and over_nfs["open_files"] == 1
        assert (over_smb["version"], over_smb["transport"], over_smb["name"]) == ("SMB3_11", "tcp", "anna")
        assert over_smb["lanes"] == smb["expect"]["lanes"] and over_smb["open_files"] >= 1
        assert over_smb["encryption"].startswith("AES-")
    finally:
        client.run("systemctl stop 'held-*'; umount -a -t nfs4,cifs", seconds=300, check=False)
