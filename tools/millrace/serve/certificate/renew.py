# SPDX-License-Identifier: Apache-2.0
"""Renewal of the server's own certificate: it nears its end, or no longer names this server."""

from collections.abc import Sequence
from typing import Literal

from millrace.serve.certificate import authority, cockpit, files, own
from millrace.serve.certificate.identity import (
    Ports,
    ServerIdentity,
    checked_name,
    days_left,
    identity,
    is_early,
    not_named,
)
from millrace.serve.certificate.model import CertificateChange, CertificateSettings, Current
from millrace.system import net
from millrace.system.documents import write_model
from millrace.system.errors import Refused
from millrace.system.users import only_root

Issuer = Literal["present", "successor", "new"]

RENEW_DAYS = 30
NO_NAMES = "none"
# The server sends its journal with its certificate as a client's; the first releases made it for servers only.
CLIENT = "TLS Web Client Authentication"


def ensure(ports: Ports = net.serving) -> CertificateChange:
    """Renew at boot, daily, and after a new address, if something is missing or nears its end.

    An installed certificate is never replaced.
    """
    only_root()
    with files.certificate_lock():
        server = identity(files.settings().names, ports)
        made = authority.ensure(server)
        used = files.find_current()
        reason = _reason(used, server, made)
        if reason is not None:
            used = own.issue(server)
        cockpit.link()
    assert used is not None
    return _changed(used, reason is not None, reason or "nothing to do")


def renew(
    names: Sequence[str] = (), back_to_own: bool = False, issuer: Issuer = "present", ports: Ports = net.serving
) -> CertificateChange:
    """Issue a certificate of the server's own CA now; `names` replace those of before and are kept for later ones.

    `issuer` is the present CA, its successor before its day, or a new one without an overlap. Refused: the certificate
    in use was installed by an administrator, and `back_to_own` is not set; or there is no successor.
    """
    only_root()
    with files.certificate_lock():
        used = files.find_current()
        if used and used.origin == "installed" and not back_to_own:
            raise Refused(
                "the certificate in use was installed by an administrator: install its successor, or return to this "
                "server's own with --own"
            )
        settings = files.settings()
        if names:
            kept = [] if tuple(names) == (NO_NAMES,) else [checked_name(name) for name in names]
            settings = CertificateSettings(names=list(dict.fromkeys(kept)))
        server = identity(settings.names, ports)
        if issuer == "successor":
            authority.take_over_now()
        authority.ensure(server, replace=issuer == "new")
        made = own.issue(server)
        write_model(files.settings_file(), settings)
        cockpit.link()
    cockpit.restart()
    return _changed(made, True, "renewed" if issuer == "present" else f"renewed with the {issuer} CA", _waiting())


def _reason(used: Current | None, server: ServerIdentity, authority_made: bool) -> str | None:
    if used is None:
        return "no previous certificate"
    if used.origin == "installed":
        return None
    if days_left(used.certificate) < RENEW_DAYS:
        return f"the previous one expires on {used.certificate.not_after[:10]}"
    if is_early(used.certificate):
        return f"the previous one is not valid before {used.certificate.not_before[:10]}: the clock was ahead"
    if authority_made:
        return "the CA was renewed"
    if CLIENT not in used.certificate.purposes:
        return "the previous one cannot be used as a client"
    lacking = not_named(used, authority.certifiable(server))
    return f"the previous one does not name {', '.join(lacking)}" if lacking else None


def _waiting() -> list[str]:
    succession = files.find_succession()
    if succession is None or not succession.waiting:
        return []
    return [
        f"the CA may not certify {', '.join(succession.waiting)}: the next CA does from {succession.takes_over[:10]} "
        "on, or now (millrace certificate renew --successor) if all clients have it"
    ]


def _changed(used: Current, changed: bool, reason: str, warnings: Sequence[str] = ()) -> CertificateChange:
    return CertificateChange(
        changed=changed, reason=reason, origin=used.origin, certificate=used.certificate, warnings=list(warnings)
    )
