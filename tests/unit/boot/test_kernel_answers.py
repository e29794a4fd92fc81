# SPDX-License-Identifier: Apache-2.0
"""Every answer that user space owes the kernel has a booted story that fails where it is not given."""

import re
from typing import NamedTuple

import pytest

from host.layout import REPO
from tests.unit.boot.units import ADDED


class Answer(NamedTuple):
    """A question of the kernel, the daemon that answers it, and a story that needs the answer."""

    question: str
    daemon: str
    story: str


MOUNTD, STORIES = "nfs-mountd.service", "tests/vm/"
ANSWERS = (
    Answer(
        "auth.unix.ip: who an address is",
        MOUNTD,
        "shares/test_access.py::test_other_networks_are_refused_on_both_protocols",
    ),
    Answer(
        "nfsd.export: what is exported to it",
        MOUNTD,
        "life/test_4_protocols.py::test_export_is_for_the_client_network_only",
    ),
    Answer(
        "nfsd.fh: in which export a handle is",
        MOUNTD,
        "shares/test_full_boot_drive.py::test_boot_drive_without_room_serves_all_shares",
    ),
    Answer(
        "auth.unix.gid: in which groups a user is",
        MOUNTD,
        "shares/test_groups.py::test_group_counts_from_the_moment_that_a_user_joins_until_she_leaves",
    ),
    Answer(
        "auth.unix.gid: that a user is not known",
        MOUNTD,
        "shares/test_groups.py::test_group_that_only_the_client_names_counts_for_users_whom_the_server_does_not_know",
    ),
    Answer(
        "client records, to give locks back",
        "nfsdcld.service",
        "shares/test_full_pool.py::test_power_cut_takes_no_lock_on_a_full_pool",
    ),
    Answer(
        "handshakes of TLS",
        "tlshd.service",
        "life/test_5_nfs_tls.py::test_client_that_follows_the_recipe_mounts_over_tls",
    ),
    Answer(
        "auth.rpcsec.init: contexts of Kerberos",
        "gssproxy.service",
        "shares/test_windows_domain.py::test_kerberos_user_owns_files_over_nfs_and_others_are_refused",
    ),
    Answer(
        "nfs4.idtoname, nfs4.nametoid: owners by name, with Kerberos",
        "nfs-idmapd.service",
        "shares/test_windows_domain.py::test_kerberos_user_owns_files_over_nfs_and_others_are_refused",
    ),
)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.question.partition(":")[0])
def test_answer_has_a_story(answer: Answer) -> None:
    file, _, name = answer.story.partition("::")
    assert re.search(rf"^def {name}\(", (REPO / STORIES / file).read_text(), re.MULTILINE)


def test_daemons_that_answer_the_kernel_are_those_of_the_table() -> None:
    # each has a sandbox of ours; the others there ask, or answer people and clients
    others = {"mdmonitor", "rpc-gssd", "smbd", "systemd-journal-upload", "winbind"}
    others |= {"cockpit", "cockpit-wsinstance-http", "cockpit-wsinstance-https@"}
    links = [link for link in ADDED.glob("*/*") if link.name == "30-sandbox.conf"]
    confined = {link.parent.name.removesuffix(".service.d") for link in links}
    assert {answer.daemon.removesuffix(".service") for answer in ANSWERS} == confined - others
