# SPDX-License-Identifier: Apache-2.0
"""Recipes for Kerberos shares name what the client needs."""

from dataclasses import replace

from millrace.serve.config.model import Domain
from tests.unit.measure.client.servers import TRAIN, recipe

DOMAIN = Domain(realm="AD.EXAMPLE.COM", workgroup="EXAMPLE", machine="MILLRACE")
MEMBER = replace(TRAIN, domain=DOMAIN)
KERBEROS = replace(MEMBER, sec="krb5p")


def words(**more: object) -> str:
    return " ".join(note.text for note in recipe(**more).notes)  # type: ignore[arg-type]


def test_a_kerberos_share_is_mounted_by_the_name_that_has_keys() -> None:
    made = recipe(served=KERBEROS)
    assert made.source == "millrace.ad.example.com:/srv/pool/train"
    assert "sec=krb5p" in made.fstab[0]
    assert recipe(served=KERBEROS, host="files.example.com").source.startswith("files.example.com:")
    assert recipe(served=MEMBER).source.startswith("10.0.0.2:")


def test_what_the_client_needs_is_said() -> None:
    said = words(served=KERBEROS)
    for phrase in (
        "rpc.gssd",
        "/etc/krb5.keytab",
        "kinit NAME@AD.EXAMPLE.COM",
        "Domain = ad.example.com",
        "EXAMPLE\\anna@",
    ):
        assert phrase in said
    assert "PTR record" in words(served=KERBEROS, protocol="nfs-tcp-trunked", host="files.example.com")
    assert "kinit" not in words(served=MEMBER)


def test_realm_is_a_placeholder_without_a_domain() -> None:
    said = words(served=replace(TRAIN, sec="krb5"))
    assert "kinit NAME@REALM" in said and "Domain =" not in said


def test_a_local_user_says_that_it_is_of_the_server() -> None:
    def credentials(user: str | None) -> str:
        return recipe(workload="mixed", protocol="smb-multichannel", served=MEMBER, user=user).files[0].text

    assert "username=anna\ndomain=MILLRACE\n" in credentials("anna")
    assert "username=anna\ndomain=EXAMPLE\n" in credentials("EXAMPLE\\anna")
