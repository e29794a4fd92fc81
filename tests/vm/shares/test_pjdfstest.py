# SPDX-License-Identifier: Apache-2.0
"""pjdfstest, the tests of what POSIX says of a file system, on a client that has a share mounted over NFS 4.2.

cargo of the build host builds it, from the registry of crates.
"""

from collections.abc import Iterator

import pytest

from host import layout
from host.suites import results
from host.suites.sources import pjdfstest
from tests.vm.box import Box
from tests.vm.shares.suites import UNSQUASHED, available, make_unsquashed, put, run_long, unexplained
from tests.vm.shares.words import nfs
from vm.machine import Machine

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("models")]

SUITE = "pjdfstest"
PROGRAM = "/run/pjdfstest.program"
# What Linux and XFS have beside POSIX' minimum, and the users that tests switch to. A second file system is /tmp.
CONFIGURATION = """
[features]
posix_fallocate = {{}}
rename_ctime = {{}}
utime_now = {{}}
utimensat = {{}}

[settings]
naptime = 0.05
allow_remount = {remount}

[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
"""


@pytest.fixture(scope="module")
def program(client: Machine) -> None:
    binary = available(lambda: pjdfstest(layout.cache_root()).read_bytes())
    put(client, binary, PROGRAM)
    client.run(f"chmod +x {PROGRAM}; cat > {PROGRAM}.toml", stdin=CONFIGURATION.format(remount="false"))
    client.run(f"cat > {PROGRAM}-remount.toml", stdin=CONFIGURATION.format(remount="true"))


@pytest.fixture
def unsquashed(box: Box, program: None) -> Iterator[str]:
    make_unsquashed(box)
    yield UNSQUASHED
    box.millrace(f"share remove {UNSQUASHED} --delete-data {UNSQUASHED}", seconds=600)


def test_file_system_over_nfs_is_that_of_posix(client: Machine, unsquashed: str) -> None:
    with nfs(client, unsquashed) as mountpoint:
        client.run(f"mkdir -p {mountpoint}/posix && chmod 755 {mountpoint}/posix")
        options = f"-s /tmp -p {mountpoint}/posix"
        # no mount becomes read-only while a test before has a file open: these tests have a process of their own
        lines = f"{PROGRAM} -c {PROGRAM}.toml {options}\n{PROGRAM} -c {PROGRAM}-remount.toml {options} erofs"
        output = run_long(client, SUITE, lines, 3600)
    ended = results.of_pjdfstest(output)
    assert len(ended) > 350, output
    assert unexplained(SUITE, "nfs", ended, output) == []
