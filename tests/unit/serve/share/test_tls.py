# SPDX-License-Identifier: Apache-2.0
"""tlshd runs with the certificate of this server while a share requires TLS."""

import configparser

import pytest

from millrace.serve.certificate import files
from millrace.serve.config.protocols import NfsClient
from millrace.serve.share import tls, verify_nfs
from millrace.serve.share.edit import create_shares, remove_share, set_share
from millrace.system.errors import Refused
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.certificates import certify


@pytest.mark.parametrize(
    ("xprtsec", "demand"),
    [([], None), (["none", "tls"], None), (["tls", "mtls"], "tls"), (["mtls"], "mtls")],
)
def test_what_a_client_has_to_name(xprtsec: list[str], demand: str | None) -> None:
    assert tls.required_mode(NfsClient.model_validate({"client": "10.0.0.0/24", "xprtsec": xprtsec})) == demand


def test_it_comes_and_goes_with_the_demand(appliance: Appliance) -> None:
    create_shares(["open"], {}, appliance.server)
    assert not appliance.tlshd
    create_shares(["may"], {"nfs_clients": ("10.0.0.0/24 xprtsec=none:tls",)}, appliance.server)
    assert appliance.tlshd
    set_share("may", {"nfs_clients": ("default",)}, appliance.server)
    assert not appliance.tlshd
    set_share("may", {"nfs_clients": ("10.0.0.0/24 xprtsec=none:mtls",)}, appliance.server)
    remove_share("may", None, appliance.server)
    assert not appliance.tlshd


def test_tlshd_is_not_restarted_without_a_change(appliance: Appliance) -> None:
    create_shares(["may"], {"nfs_clients": ("10.0.0.0/24 xprtsec=none:tls",)}, appliance.server)
    create_shares(["open"], {}, appliance.server)
    assert len(appliance.called("systemctl start tlshd")) == 1 and not appliance.called("systemctl restart tlshd")


def test_its_configuration_points_to_the_certificate_of_this_server(appliance: Appliance) -> None:
    create_shares(["open"], {}, appliance.server)
    config = configparser.ConfigParser()
    config.read(appliance.root / "etc/tlshd/config")
    room = "/var/lib/millrace/certificate"
    assert dict(config["authenticate.server"]) == {
        "x509.truststore": f"{room}/trusted.pem",
        "x509.crl": f"{room}/revoked.pem",
        "x509.certificate": f"{room}/current/server.pem",
        "x509.private_key": f"{room}/current/server.key",
    }
    assert config["authenticate.client"]["x509.private_key"] == f"{room}/loopback.key"


class TestTheLook:
    def test_a_share_that_demands_tls_is_opened_over_it_under_a_name_of_the_certificate(
        self, appliance: Appliance
    ) -> None:
        certify(["nas.example.com"], origin="installed")
        report = create_shares(["sealed"], {"nfs_clients": ("10.0.0.0/24 xprtsec=tls",)}, appliance.server)
        assert appliance.called("nfs-session") == ["nfs-session 127.0.0.1 nas.example.com"]
        assert any("over TLS (xprtsec=tls)" in one for one in report.verified)

    def test_every_way_in_is_tried(self, appliance: Appliance) -> None:
        certify(["*.example.com"])
        clients = ("10.0.0.0/24 xprtsec=mtls", "10.0.1.0/24 xprtsec=tls:mtls", "10.0.2.0/24")
        create_shares(["three"], {"nfs_clients": clients}, appliance.server)
        over = "nfs-session 127.0.0.1 this-server.example.com"
        assert appliance.called("nfs-session") == ["nfs-session 127.0.0.1", over, over]

    def test_the_loopback_is_let_in_over_tls_alone(self, appliance: Appliance) -> None:
        seen: list[str] = []
        appliance.before["nfs-session"] = lambda: seen.extend(appliance.transient.values())
        create_shares(["sealed"], {"nfs_clients": ("10.0.0.0/24 xprtsec=mtls",)}, appliance.server)
        assert seen and all(one.endswith(",xprtsec=mtls)") for one in seen)

    def test_a_handshake_that_comes_late_is_waited_for(
        self, appliance: Appliance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(verify_nfs, "PAUSES", (0.0, 0.0))
        appliance.broken["nfs-session"] = Result(1, "", "the server does not answer (Connection refused)")
        tries: list[str] = []

        def third() -> None:
            tries.append("")
            if len(tries) == 3:
                appliance.broken.clear()

        appliance.before["nfs-session"] = third
        create_shares(["sealed"], {"nfs_clients": ("10.0.0.0/24 xprtsec=tls",)}, appliance.server)
        assert len(tries) == 3

    def test_where_it_does_not_mount_the_share_is_not_made(
        self, appliance: Appliance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(verify_nfs, "PAUSES", ())
        appliance.broken["nfs-session"] = Result(1, "", "the TLS handshake fails (certificate expired)")
        with pytest.raises(Refused, match=r"over TLS \(xprtsec=tls\).*certificate expired"):
            create_shares(["sealed"], {"nfs_clients": ("10.0.0.0/24 xprtsec=tls",)}, appliance.server)
        assert not appliance.tlshd

    def test_without_a_certificate_it_says_what_makes_one(self, appliance: Appliance) -> None:
        files.current().unlink()
        with pytest.raises(Refused, match=r"millrace-certificate\.service"):
            create_shares(["sealed"], {"nfs_clients": ("10.0.0.0/24 xprtsec=tls",)}, appliance.server)
