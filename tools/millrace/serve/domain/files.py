# SPDX-License-Identifier: Apache-2.0
"""Files under /etc that only a member of a domain has, beside its smb.conf."""

import re
from functools import partial

from millrace.serve.config.model import Domain
from millrace.serve.render.registry import FileEntry
from millrace.system import paths

KRB5 = "etc/krb5.conf"
IDMAPD = "etc/idmapd.conf.d/millrace.conf"
DNS = "etc/systemd/dns-delegate.d/millrace.dns-delegate"
NSSWITCH = "etc/nsswitch.conf"

# Written by Samba; its being there is what starts Kerberos for nfsd (units of nfs-utils).
KEYTAB = "etc/krb5.keytab"

_DATABASES = re.compile(r"(?P<before>(?:passwd|group):[^#\n]*)")


def entries(domain: Domain | None) -> list[FileEntry]:
    """Return the files of a member; all are absent without a domain, and accounts are not searched in it."""
    path = paths.ROOT / NSSWITCH
    return [
        FileEntry(KRB5, partial(krb5, domain), when=domain is not None),
        FileEntry(IDMAPD, partial(_render, IDMAPD, domain), when=domain is not None),
        delegate(domain),
        FileEntry(
            NSSWITCH,
            lambda: with_winbind(path.read_text(), domain is not None),
            when=path.is_file(),
            recorded=False,
        ),
    ]


def krb5(domain: Domain | None) -> str:
    """Return the text of krb5.conf for a member."""
    assert domain is not None
    return _render(KRB5, domain, pattern=re.escape(domain.realm))


def delegate(domain: Domain | None) -> FileEntry:
    """Return the file that sends names of the domain to its DNS servers; absent where the network's servers know it."""
    return FileEntry(DNS, partial(_render, DNS, domain), when=domain is not None and bool(domain.dns))


def with_winbind(text: str, wanted: bool) -> str:
    """Return nsswitch.conf(5) with users and groups of the domain last, or without them."""
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


def _render(path: str, domain: Domain | None, **values: str) -> str:
    # Here and not above: health imports this module every 30 s and renders nothing.
    from millrace.system.render import render

    return render(f"{path}.j2", domain=domain, **values)
