# SPDX-License-Identifier: Apache-2.0
"""NFS over TLS: what a share demands, and tlshd, which makes the handshakes for the kernel."""

from collections.abc import Iterable, Sequence
from typing import Literal

from millrace.serve.certificate import files
from millrace.serve.config.protocols import NfsClient
from millrace.serve.share.model import Share
from millrace.system import nfs_client, paths
from millrace.system.errors import Failed
from millrace.system.run import Runner, must
from millrace.system.units import is_active

CONFIGURATION = "etc/tlshd/config"
UNIT = "tlshd.service"

TlsMode = Literal["tls", "mtls"]
# None: clients may come without TLS.
MODES: tuple[TlsMode | None, ...] = (None, "tls", "mtls")


def required_mode(client: NfsClient) -> TlsMode | None:
    """Return what this client must name to mount; None where it may come without TLS."""
    if not client.xprtsec or "none" in client.xprtsec:
        return None
    return "tls" if "tls" in client.xprtsec else "mtls"


def required_modes(share: Share) -> list[TlsMode | None]:
    """Return all that the clients of a share must name, the least strict first."""
    found = {required_mode(client) for client in share.exports}
    return [one for one in MODES if one in found]


def uses_tls(clients: Iterable[NfsClient]) -> bool:
    """Whether a client may or must use TLS."""
    return any({"tls", "mtls"} & set(client.xprtsec) for client in clients)


def configuration(shares: Sequence[Share] = ()) -> str:
    """Return the text of tlshd's configuration; with replicas this server trusts the CAs of their sources, too."""
    from millrace.system.render import render

    # Not through ROOT: tlshd reads it on the server.
    directory = f"/{files.directory().relative_to(paths.ROOT)}"
    names = {"chain": files.CHAIN, "key": files.KEY, "peer": f"current/{files.PEER}", "revoked": files.REVOKED}
    if any(share.replica_of for share in shares):
        names["peer"] = files.SOURCES
    return render(f"{CONFIGURATION}.j2", directory=directory, **names)


def reload(shares: Sequence[Share], changed: bool, run: Runner) -> bool:
    """Run tlshd while a share names TLS; `changed` is its configuration. Return whether it was started or stopped."""
    running = is_active(UNIT, run)
    clients = (client for share in shares for client in (*share.exports, *share.readers))
    if not uses_tls(clients) and not any(share.replica_of for share in shares):
        if running:
            must(run, ["systemctl", "stop", UNIT])
        return running
    if running and not changed:
        return False
    must(run, ["systemctl", "restart" if running else "start", UNIT])
    return True


def client(mode: TlsMode) -> nfs_client.TlsClient:
    """Return how this server is its own client over TLS; with `mtls` it shows a certificate.

    Failed: there is no certificate.
    """
    shown = files.loopback_pair() if mode == "mtls" else None
    return nfs_client.TlsClient(server_name(), files.current() / files.PEER, shown)


def server_name() -> str:
    """Return a name or address of the certificate, for a client on the server itself.

    Failed: there is no certificate.
    """
    used = files.find_current()
    if used is None:
        raise Failed("NFS over TLS needs the certificate of this server: systemctl start millrace-certificate.service")
    if used.certificate.names:
        # Any name will do for a star.
        return used.certificate.names[0].replace("*", "this-server")
    address = used.certificate.addresses[0]
    return str(address)
