# SPDX-License-Identifier: Apache-2.0
"""Requirements of a client for an NFS share that accepts Kerberos only."""

from millrace.measure.client import sources
from millrace.measure.client.choices import Protocol
from millrace.measure.client.model import Note
from millrace.measure.client.served import ServedShare


def host_name(served: ServedShare) -> str | None:
    """Return the name that this server has keys for; None where the share needs none or there is no domain."""
    return served.domain.host_name if served.sec and served.domain else None


def notes(served: ServedShare, protocol: Protocol) -> list[Note]:
    """Return the requirements in their order; none where the share accepts clients without Kerberos."""
    if not served.sec:
        return []
    realm = served.domain.realm if served.domain else "REALM"
    remarks = [
        Note(
            text=f"sec={served.sec}: the client must be a member of {realm} and run rpc.gssd (nfs-common starts it if "
            "/etc/krb5.keytab exists). Joining the domain (realm join, net ads join) creates the keytab that the mount "
            "needs.",
            source=sources.GSSD,
        ),
        Note(
            text=f"Every user needs a Kerberos ticket: sssd or winbind get one at login, otherwise run kinit "
            f"NAME@{realm}. Without a ticket, access fails with 'Permission denied'. Clocks may differ by 5 minutes.",
            source=sources.GSSD,
        ),
    ]
    if served.domain:
        zone, workgroup = served.domain.zone, served.domain.workgroup
        text = (
            f"Set 'Domain = {zone}' under [General] of /etc/idmapd.conf: owners are sent by name, as "
            f"{workgroup}\\anna@{zone}, and are shown as nobody on a client with another Domain."
        )
        remarks.append(Note(text=text, source=sources.IDMAPD))
    if protocol.is_trunked:
        text = "Each address of this server needs a PTR record with its host name: tickets are issued for host names."
        remarks.append(Note(text=text, source=sources.GSSD))
    return remarks
