# SPDX-License-Identifier: Apache-2.0
"""Shares are boundaries over NFS although all are on one file system: a handle of one opens nothing in another.

That handles go on after a reboot is told by the client that goes on (tests/vm/life/test_7_power.py).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.shares.words import HOST
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

KEY = "/var/lib/millrace/nfs-handles.key"
SECRET = "/srv/pool/vault/secret"
# RFC 8881: NFS4ERR_ROFS, NFS4ERR_STALE
READ_ONLY, STALE = 30, 70


@pytest.fixture
def vault(box: Box) -> Iterator[None]:
    """A share that the client may read, with a file that all could write; models, beside it, it may write."""
    client = f"{CLIENT_ADDRESSES[0]} access=ro"
    box.millrace(["share", "create", "vault", "--no-smb", "--nfs-client", client], seconds=600)
    box.say(f"echo secret > {SECRET}; chown nobody {SECRET}; chmod 666 {SECRET}")
    yield
    box.millrace("share remove vault --delete-data vault", seconds=600)


@pytest.mark.usefixtures("vault")
def test_handle_joined_with_the_identity_of_another_share_is_refused(box: Box, client: Machine) -> None:
    client.run("cat > /run/forged.py", stdin=(Path(__file__).parent / "forged_handle.py").read_text())
    said = client.run(["python3", "/run/forged.py", HOST, SECRET, "/srv/pool/models"], seconds=300).out
    given, joined = ([int(one) for one in line.split()] for line in said.splitlines())
    assert given == [0, READ_ONLY]
    assert joined == [STALE, STALE]
    assert box.say(f"stat -c %a {SECRET}") == "666"


def test_every_export_is_signed_with_a_key_of_root_alone(box: Box) -> None:
    exports = [line for line in box.say("exportfs -s").splitlines() if line.startswith("/srv/pool/")]
    assert exports and all(",sign_fh," in line for line in exports)
    assert box.say(f"stat -c '%a %U %s' {KEY}") == "600 root 65"
