# SPDX-License-Identifier: Apache-2.0
"""A recipe that cannot work is refused with what works instead."""

from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_interface

import pytest

from millrace.measure.client.model import Recipe
from millrace.measure.client.trunking import zone
from millrace.system.errors import BadInput, Refused
from tests.unit.measure.client.servers import SMB_ONLY, TRAIN, recipe

ONE_OF_EACH = [ip_interface("10.0.0.2/24"), ip_interface("fd00::2/64")]
ONE_ADDRESS = replace(TRAIN, addresses=ONE_OF_EACH, rdma=ONE_OF_EACH)
NO_RDMA = replace(TRAIN, rdma=[])


@pytest.mark.parametrize(
    ("ask", "instead"),
    [
        (lambda: recipe(protocol="smb-rdma"), "not on SMB Direct.*use --protocol nfs-rdma"),
        (lambda: recipe(protocol="smb-rdma", served=replace(TRAIN, direct=True, rdma=[])), "no RDMA device.*of train"),
        (
            lambda: recipe(protocol="smb-multichannel", served=replace(TRAIN, smb=False, direct=True)),
            "use --protocol smb-rdma",
        ),
        (lambda: recipe(protocol="nfs-rdma", served=NO_RDMA), "no RDMA device.*of train: use --protocol nfs-tcp"),
        (lambda: recipe(protocol="nfs-rdma", served=replace(TRAIN, xprtsec="tls")), "TLS.*use --protocol nfs-tcp"),
        (lambda: recipe(protocol="nfs-tcp", served=SMB_ONLY), "not on NFS: use --protocol smb-multichannel"),
        (lambda: recipe(protocol="smb-multichannel", served=replace(TRAIN, smb=False)), "use --protocol nfs-tcp"),
        (lambda: recipe("kvcache", served=replace(TRAIN, read_only=True)), "is read-only.*create a share of its own"),
        (lambda: recipe(protocol="nfs-tcp", gpu="nvidia"), "host memory: with --gpu use nfs-rdma"),
        (lambda: recipe(protocol="smb-multichannel", gpu="amd"), "host memory: with --gpu use nfs-rdma"),
        (lambda: recipe(protocol=None, gpu="nvidia", served=NO_RDMA), "no RDMA device"),
        (
            lambda: recipe(protocol=None, gpu="amd", served=replace(TRAIN, xprtsec="tls")),
            "TLS.*use a share without TLS",
        ),
        (
            lambda: recipe(protocol=None, gpu="nvidia", served=replace(TRAIN, sec="krb5p")),
            "sec=krb5p.*use a share with",
        ),
        (
            lambda: recipe(protocol=None, gpu="nvidia", served=replace(TRAIN, sec="krb5i")),
            "sec=krb5i.*use a share with",
        ),
        (lambda: recipe(local_cache=True), "train can be written: use a share with --type dataset-ro"),
        (lambda: recipe("checkpoint", local_cache=True), "use --workload training, not checkpoint"),
        (lambda: recipe(protocol="smb-multichannel", local_cache=True), "for NFS mounts: use --protocol nfs-tcp"),
        # one family only: the kernel takes no IPv6 connection into a session that began over IPv4
        (lambda: recipe(protocol="nfs-tcp-trunked", served=ONE_ADDRESS), "several.*or use --protocol nfs-tcp"),
        (lambda: recipe(protocol="nfs-rdma-trunked", served=ONE_ADDRESS), "several.*or use --protocol nfs-rdma"),
    ],
)
def test_refusals_say_what_to_use_instead(ask: Callable[[], Recipe], instead: str) -> None:
    with pytest.raises(Refused, match=instead) as refusal:
        ask()
    assert "\n" not in str(refusal.value)


SMUGGLED = ["", "nas server", "-nas", "nas,soft", "nas:/etc", "a" * 64, "näs", "nas\n10.0.0.1:/ /mnt"]


@pytest.mark.parametrize("host", SMUGGLED)
def test_a_host_name_cannot_smuggle_anything_into_fstab_or_a_zone(host: str) -> None:
    with pytest.raises(BadInput):
        zone(host, TRAIN.addresses)
    if host:
        for protocol in ("nfs-tcp", "smb-multichannel"):
            with pytest.raises(BadInput, match="host name"):
                recipe(protocol=protocol, host=host)


@pytest.mark.parametrize("user", ["a b", "alice\npassword=x", "a,uid=0", "\\alice", "A\\B\\c", "-x"])
def test_a_user_cannot_smuggle_anything_into_the_credentials(user: str) -> None:
    with pytest.raises(BadInput, match="user"):
        recipe(protocol="smb-multichannel", user=user)
