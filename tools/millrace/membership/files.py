# SPDX-License-Identifier: Apache-2.0
"""Files under /etc that a member of a domain has beside its smb.conf, and nobody else."""

import re

from millrace import paths
from millrace.etc import rendered
from millrace.state.model import Domain
from millrace.system.files import write_text

KRB5 = "etc/krb5.conf"
IDMAPD = "etc/idmapd.conf.d/millrace.conf"
DNS = "etc/systemd/dns-delegate.d/millrace.dns-delegate"
NSSWITCH = "etc/nsswitch.conf"

# Written by Samba; its being there is what starts Kerberos for nfsd (units of nfs-utils).
KEYTAB = "etc/krb5.keytab"

_ALL = (KRB5, IDMAPD, DNS)
_DATABASES = re.compile(r"(?P<before>(?:passwd|group):[^#\n]*)")


def texts(domain: Domain | None) -> dict[str, str]:
    """The files of a member, by path; none without a domain."""
    if domain is None:
        return {}
    # Here and not above: health looks at this module every 30 s and renders nothing.
    from millrace.system.render import render

    found = {
        KRB5: render(f"{KRB5}.j2", domain=domain, pattern=re.escape(domain.realm)),
        IDMAPD: render(f"{IDMAPD}.j2", domain=domain),
    }
    return {**found, **delegate(domain)}


def delegate(domain: Domain) -> dict[str, str]:
    """Where names of the domain are asked for; nothing where the network's own name servers know."""
    from millrace.system.render import render

    return {DNS: render(f"{DNS}.j2", domain=domain)} if domain.dns else {}


def settle(domain: Domain | None) -> list[str]:
    """Remove what is not wanted any more, look up accounts where they are; names of the files that changed."""
    wanted = texts(domain)
    changed = [name for name in _ALL if name not in wanted and rendered.is_ours(name)]
    for name in changed:
        rendered.remove(name)
    path = paths.ROOT / NSSWITCH
    if path.is_file() and write_text(path, with_winbind(path.read_text(), domain is not None)):
        changed.append(NSSWITCH)
    return changed


def with_winbind(text: str, wanted: bool) -> str:
    """nsswitch.conf(5) with users and groups of the domain last, or without them."""
    return "\n".join(_line(line, wanted) for line in text.split("\n"))


def _line(line: str, wanted: bool) -> str:
    match = _DATABASES.match(line)
    if match is None:
        return line
    there = "winbind" in match["before"].split()
    if there == wanted:
        return line
    before = match["before"].rstrip()
    changed = f"{before} winbind" if wanted else re.sub(r"\s+winbind\b", "", before)
    return changed + line[len(before) :]
