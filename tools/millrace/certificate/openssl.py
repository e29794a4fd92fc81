# SPDX-License-Identifier: Apache-2.0
"""What openssl(1) does for us. Keys go through standard input or files of root's alone, never a command line."""

import re
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from millrace import command, store
from millrace.certificate.model import Certificate
from millrace.errors import BadInput, Failed
from millrace.render import render

Kind = Literal["authority", "server", "look"]

SECONDS = 60.0
# Clients whose clocks are behind take a new certificate too.
EARLIER = timedelta(days=1)

_SUBJECT = ["-nameopt", "RFC2253,utf8,-esc_msb"]


def new_key() -> str:
    """A private key: P-256, which every client takes and which costs little to sign with."""
    return _run(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])


def plain_key(key: str) -> str:
    """The key as PKCS #8; BadInput if it is none that openssl knows."""
    return _run(["pkey"], key, "the private key cannot be read")


def public_of_key(key: str) -> str:
    """The public half of a private key."""
    return _run(["pkey", "-pubout"], key, "the private key cannot be read")


def public_of(certificate: str) -> str:
    """The public key in a certificate."""
    return _run(["x509", "-noout", "-pubkey"], certificate, "a certificate cannot be read")


def describe(certificate: str) -> Certificate:
    """What a certificate says; BadInput if it is none."""
    wanted = ["-subject", "-issuer", "-dates", "-dateopt", "iso_8601", "-fingerprint", "-sha256"]
    extensions = ["-ext", "subjectAltName,basicConstraints,extendedKeyUsage"]
    words = _run(["x509", "-noout", *wanted, *_SUBJECT, *extensions], certificate, "a certificate cannot be read")
    names, addresses = _alternatives(_extension(words, "Subject Alternative Name"))
    return Certificate(
        subject=_line(words, "subject"),
        issuer=_line(words, "issuer"),
        names=names,
        addresses=addresses,
        not_before=_time(_line(words, "notBefore")),
        not_after=_time(_line(words, "notAfter")),
        fingerprint=_line(words, "sha256 fingerprint"),
        authority="CA:TRUE" in _extension(words, "Basic Constraints"),
        purposes=[one.strip() for one in _extension(words, "Extended Key Usage").split(",") if one.strip()],
    )


def signed_by(certificate: str, issuer: str, scratch: Path) -> bool:
    """Whether `issuer` signed `certificate`; times are not looked at."""
    for name, text in (("issuer.pem", issuer), ("certificate.pem", certificate)):
        store.write_text(scratch / name, text)
    trust = ["-partial_chain", "-no_check_time", "-trusted", str(scratch / "issuer.pem")]
    return command.attempt(["openssl", "verify", *trust, str(scratch / "certificate.pem")], timeout=SECONDS).status == 0


def request(key: str, common_name: str, names: list[str], addresses: list[str], scratch: Path) -> str:
    """A request that an authority can sign."""
    configuration = _configuration(scratch, common_name, names, addresses)
    store.write_text(scratch / "request.key", key, mode=0o600)
    keyed = ["-key", str(scratch / "request.key")]
    return _run(["req", "-new", "-config", str(configuration), *keyed, "-reqexts", "request"])


def issue(
    kind: Kind,
    key: str,
    common_name: str,
    names: list[str],
    addresses: list[str],
    validity: timedelta,
    issuer: tuple[Path, Path] | None,
    scratch: Path,
) -> str:
    """A certificate for `key`, signed by `issuer` (certificate and key), or by itself where there is none."""
    configuration = _configuration(scratch, common_name, names, addresses)
    (scratch / "request.pem").write_text(request(key, common_name, names, addresses, scratch))
    (scratch / "index.txt").write_text("")
    now = datetime.now(UTC)
    times = ["-startdate", _asn1(now - EARLIER), "-enddate", _asn1(now + validity)]
    if issuer:
        signer = ["-cert", str(issuer[0]), "-keyfile", str(issuer[1])]
    else:
        signer = ["-selfsign", "-keyfile", str(scratch / "request.key")]
    files = ["-config", str(configuration), "-in", str(scratch / "request.pem"), "-out", str(scratch / "made.pem")]
    _run(["ca", "-batch", "-notext", *files, "-extensions", kind, *times, *signer])
    return (scratch / "made.pem").read_text()


def _configuration(scratch: Path, common_name: str, names: list[str], addresses: list[str]) -> Path:
    path = scratch / "openssl.cnf"
    alternatives = [("DNS", one) for one in names] + [("IP", one) for one in addresses]
    values = {"directory": scratch, "common_name": common_name, "alternatives": alternatives}
    path.write_text(render("certificate/openssl.cnf.j2", **values))
    return path


def _run(words: list[str], stdin: str | None = None, bad_input: str | None = None) -> str:
    result = command.attempt(["openssl", *words], stdin, timeout=SECONDS)
    if result.status == 0:
        return result.out
    if bad_input and result.status == 1:
        raise BadInput(f"{bad_input}: is it whole, and PEM text?")
    last = (result.err.strip() or "no message").splitlines()[-1]
    raise Failed(f"openssl {words[0]} failed with status {result.status}: {last}")


def _line(words: str, key: str) -> str:
    for line in words.splitlines():
        name, _, value = line.partition("=")
        if name.strip().lower() == key.lower():
            return value.strip()
    raise Failed(f"openssl x509 does not say the {key} of a certificate")


def _extension(words: str, title: str) -> str:
    lines = iter(words.splitlines())
    for line in lines:
        if title in line:
            return next(lines, "").strip()
    return ""


def _alternatives(text: str) -> tuple[list[str], list[str]]:
    names = re.findall(r"DNS:([^,\s]+)", text)
    addresses = re.findall(r"IP Address:([0-9A-Fa-f.:]+)", text)
    return names, [str(ip_address(one)) for one in addresses]


def _time(text: str) -> str:
    """openssl's "2026-11-20 10:00:00Z" as everything else here says it."""
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%SZ").replace(tzinfo=UTC)
    return moment.isoformat(timespec="seconds")


def _asn1(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%SZ")
