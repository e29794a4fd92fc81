# SPDX-License-Identifier: Apache-2.0
"""A certificate for the tests of other rooms: what is recorded of it counts there, and nobody checks a signature."""

import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from millrace.serve.certificate import files, pem
from millrace.serve.certificate.model import Certificate, Current, Origin
from millrace.system import paths
from millrace.system.files import write_text


def certificate(
    names: Sequence[str] = ("nas7", "nas7.local"),
    days: float = 395,
    addresses: Sequence[str] = (),
    end: datetime | None = None,
    begin: str = "2026-01-01T00:00:00+00:00",
) -> Certificate:
    """What a certificate says that ends in so many days, or at `end`."""
    end = end or datetime.now(UTC) + timedelta(days=days)
    return Certificate(
        subject="CN=nas7",
        issuer="CN=authority",
        names=list(names),
        addresses=list(addresses),
        not_before=begin,
        not_after=end.isoformat(timespec="seconds"),
        fingerprint="AB:CD",
        authority=False,
    )


def certify(
    names: Sequence[str] = ("nas7", "nas7.local"),
    days: float = 395,
    origin: Origin = "own",
    host: str = "nas7",
    addresses: Sequence[str] = (),
    end: datetime | None = None,
    begin: str = "2026-01-01T00:00:00+00:00",
) -> None:
    """Give the server, which is called `host`, a certificate."""
    kernel = paths.ROOT / "proc/sys/kernel"
    kernel.mkdir(parents=True, exist_ok=True)
    (kernel / "hostname").write_text(f"{host}\n")
    text, key = pair()
    about = Current(
        origin=origin,
        certificate=certificate(names, days, addresses, end, begin),
        chain=1,
        sha256=pem.digest(text),
        covers=[host],
    )
    write_text(files.authority()[0], "-----BEGIN CERTIFICATE-----\nauthority\n-----END CERTIFICATE-----\n")
    texts = {files.CHAIN: text, files.KEY: key, files.ABOUT: about.model_dump_json()}
    files.activate(texts)


@cache
def pair(name: str = "nas7") -> tuple[str, str]:
    """A certificate that trusts itself and its key, in PEM."""
    with tempfile.TemporaryDirectory() as scratch:
        certificate, key = Path(scratch) / "a.pem", Path(scratch) / "a.key"
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"]
        about = ["-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        subprocess.run([*make, *about, "-out", certificate, "-keyout", key], check=True, capture_output=True)
        return certificate.read_text(), key.read_text()
