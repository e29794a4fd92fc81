# SPDX-License-Identifier: Apache-2.0
"""Requirements of a client for an NFS share that accepts Kerberos only."""

from millrace.client import sources
from millrace.client.choices import Protocol
from millrace.client.model import Note
from millrace.client.served import ServedShare


def host_name(served: ServedShare) -> str | None:
    """Return the name that this server has keys for; None where the share needs none or there is no domain."""
    return served.domain.host_name if served.sec and served.domain else None


def notes(served: ServedShare, protocol: Protocol) -> list[Note]:
    """Return the requirements in their order; none where the share accepts clients without Kerberos."""
    if not served.sec:
        return []
    realm = served.domain.realm if served.domain else "REALM"
    found = [
        Note(
            text=f"sec={served.sec}: the client runs rpc.gssd (nfs-common starts it where /etc/krb5.keytab is) and is "
            f"a machine of {realm}: joining the domain (realm join, net ads join) makes the keytab that the mount "
            "itself needs.",
            source=sources.GSSD,
        ),
        Note(
            text=f"Every user needs a ticket of their own: a login through sssd or winbind brings one, else kinit "
            f"NAME@{realm}. Without one all they see is 'Permission denied'. Clocks may differ by 5 minutes.",
            source=sources.GSSD,
        ),
    ]
    if served.domain:
        zone, workgroup = served.domain.zone, served.domain.workgroup
        text = (
            f"Put 'Domain = {zone}' under [General] of /etc/idmapd.conf: owners are sent by name, as "
            f"{workgroup}\\anna@{zone}, and belong to nobody on a client of another Domain."
        )
        found.append(Note(text=text, source=sources.IDMAPD))
    if protocol is Protocol.NFS_TCP_TRUNKED:
        text = "Each address of this server needs a PTR record with its name: tickets are for names."
        found.append(Note(text=text, source=sources.GSSD))
    return found
