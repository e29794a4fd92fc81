# SPDX-License-Identifier: Apache-2.0
"""What a client is told to do, done as it stands."""

import json

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.shares.words import HOST, PASSWORD
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")


@pytest.mark.parametrize(
    ("profile", "protocol"),
    [
        ("training", "nfs-tcp"),
        ("dataloader", "nfs-tcp-trunked"),
        ("checkpoint", "nfs-rdma"),
        ("mixed", "smb-multichannel"),
    ],
)
def test_a_recipe_applied_as_it_stands_passes_its_own_check(
    box: Box, client: Machine, profile: str, protocol: str
) -> None:
    if protocol == "nfs-rdma":
        for machine, address in ((box.machine, HOST), (client, CLIENT_ADDRESSES[0])):
            port = machine.run(f"ip -o address show to {address} | awk '{{print $2}}'").out.strip()
            machine.run(f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {port}")
        box.machine.wait_command("grep -q 'rdma 20049' /proc/fs/nfsd/portlist", "RDMA listener", 120)
    recipe = box.read_json(
        f"millrace client recipe --profile {profile} --protocol {protocol} --share models --user anna --json"
    )
    client.run("modprobe -r nfsv4 nfs", check=False)
    for file in recipe["files"]:
        text = file["text"].replace("password=\n", f"password={PASSWORD}\n")
        client.run(
            f"mkdir -p $(dirname {file['path']}); cat > {file['path']}; chmod {file['mode']} {file['path']}", stdin=text
        )
    client.run("cat > /etc/fstab", stdin="\n".join([*recipe["fstab"], ""]))
    client.run(" && ".join(recipe["fstab_commands"]), seconds=300)
    client.run("cat > /run/check.py", stdin=box.machine.run("millrace client check-script").out)
    client.run("cat > /run/expect.json", stdin=json.dumps(recipe["expect"]))
    command = f"python3 /run/check.py {recipe['mountpoint']} --expect /run/expect.json"
    check = client.run(command, check=False, seconds=300)
    journal = client.run("journalctl -b -n 40 --no-pager").out
    client.run(
        "systemctl stop '*.automount'; umount -a -t nfs4,cifs; : > /etc/fstab; systemctl daemon-reload", seconds=300
    )
    assert check.status == 0, check.out + check.err + journal
