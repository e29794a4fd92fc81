# SPDX-License-Identifier: Apache-2.0
"""A server that makes its own certificates, and a site's authority beside it, which is the real openssl."""

import subprocess
from datetime import UTC, datetime, timedelta
from ipaddress import ip_interface
from pathlib import Path

import pytest

from millrace.serve.certificate import files
from millrace.serve.certificate.cockpit import DELAY
from millrace.system.net import Interface
from tests.fakes.commands import Commands
from tests.fakes.tools import stand_in

RESTART = "systemctl try-restart cockpit.service millrace-metrics.service"


class Server(Commands):
    """Its name and addresses can change. The only program that it runs restarts Cockpit a little later."""

    TAKEN = (f"systemd-run --quiet --collect --on-active={DELAY} --timer-property=AccuracySec=1s {RESTART}",)

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.root = root
        self.addresses = ["10.0.0.2/24", "fd00:1::2/64"]
        (root / "proc/sys/kernel").mkdir(parents=True)
        self.name("nas7")
        stand_in(monkeypatch, self)

    def name(self, name: str) -> None:
        (self.root / "proc/sys/kernel/hostname").write_text(f"{name}\n")

    def ports(self) -> list[Interface]:
        return [Interface("enp1s0", [ip_interface(one) for one in self.addresses], True, None)]

    @property
    def shown(self) -> str:
        """The chain that clients see."""
        return (files.current() / files.CHAIN).read_text()

    @property
    def key(self) -> str:
        return (files.current() / files.KEY).read_text()

    def restarted_cockpit(self) -> bool:
        return any("cockpit.service" in call for call in self.calls)


def openssl(*words: str, stdin: str = "") -> str:
    return subprocess.run(["openssl", *words], input=stdin, capture_output=True, text=True, check=True).stdout


def takes(authority: str, certificate: str, directory: Path) -> bool:
    """Whether a client that trusts `authority` takes `certificate` now, as openssl sees it."""
    (directory / "trusted.pem").write_text(authority)
    (directory / "shown.pem").write_text(certificate)
    words = [
        "openssl",
        "verify",
        "-x509_strict",
        "-trusted",
        str(directory / "trusted.pem"),
        str(directory / "shown.pem"),
    ]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


class Authority:
    """A site's authority with an intermediate, made by hand."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def make(self) -> None:
        self._make("Site root", None, "basicConstraints=critical,CA:TRUE")
        self._make("Site issuing", "Site root", "basicConstraints=critical,CA:TRUE")

    @property
    def root(self) -> str:
        return (self.directory / "Site root.pem").read_text()

    @property
    def middle(self) -> str:
        return (self.directory / "Site issuing.pem").read_text()

    @property
    def middle_key(self) -> str:
        return (self.directory / "Site issuing.key").read_text()

    def server(
        self, extensions: str, days: int = 90, name: str = "nas7.example.com", subject: str | None = None
    ) -> tuple[str, str]:
        """A certificate of the intermediate, and its key."""
        return self._make(name, "Site issuing", extensions, days, subject)

    def below_a_server(self, extensions: str) -> str:
        """A certificate that another server signed, which is no authority; its key; and that of the other."""
        other, _ = self.server(f"{extensions};basicConstraints=critical,CA:FALSE", name="other")
        return "".join(self._make("below", "other", extensions)) + other

    def revocations(self, *certificates: str, days: int = 30) -> str:
        """The list of what the intermediate has revoked, which ends in so many days."""
        (self.directory / "ca.cnf").write_text(
            "[ca]\ndefault_ca=site\n[site]\ndatabase=index\ndefault_md=sha256\n".replace(
                "=index", f"={self.directory / 'index'}"
            )
        )
        (self.directory / "index").touch()
        issuer = [
            "-cert",
            str(self.directory / "Site issuing.pem"),
            "-keyfile",
            str(self.directory / "Site issuing.key"),
        ]
        common = ["ca", "-config", str(self.directory / "ca.cnf"), *issuer]
        for revoked in certificates:
            (self.directory / "revoked.pem").write_text(revoked)
            openssl(*common, "-revoke", str(self.directory / "revoked.pem"))
        now = datetime.now(UTC)
        times = [f"{at:%Y%m%d%H%M%SZ}" for at in (now - timedelta(days=9), now + timedelta(days=days))]
        return openssl(*common, "-gencrl", "-crl_lastupdate", times[0], "-crl_nextupdate", times[1])

    def _make(
        self, name: str, issuer: str | None, extensions: str, days: int = 365, subject: str | None = None
    ) -> tuple[str, str]:
        key = self.directory / f"{name}.key"
        certificate = self.directory / f"{name}.pem"
        (self.directory / "ext").write_text(extensions.replace(";", "\n") + "\n")
        key.write_text(openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))
        request = openssl("req", "-new", "-utf8", "-key", str(key), "-subj", subject or f"/CN={name}")
        issuer = issuer or name
        if issuer == name:
            signer = ["-signkey", str(key)]
        else:
            signer = ["-CA", str(self.directory / f"{issuer}.pem"), "-CAkey", str(self.directory / f"{issuer}.key")]
            signer += ["-CAcreateserial"]
        extfile = ["-extfile", str(self.directory / "ext")]
        certificate.write_text(openssl("x509", "-req", "-days", str(days), *signer, *extfile, stdin=request))
        return certificate.read_text(), key.read_text()


def sign(authority: Authority, request: str) -> str:
    """What an authority answers to a request: it copies what was asked for."""
    ca = authority.directory / "Site issuing.pem"
    key = authority.directory / "Site issuing.key"
    keyed = ["-CA", str(ca), "-CAkey", str(key), "-CAcreateserial", "-copy_extensions", "copyall"]
    return openssl("x509", "-req", "-days", "90", *keyed, stdin=request)
