# SPDX-License-Identifier: Apache-2.0
"""Whether this server may serve over SMB Direct: ksmbd answers on every RDMA device, without a setting against it.

Its listener has any address (smb_direct_listen() in fs/smb/server/transport_rdma.c of kernel 7.2), it sees no address
of a client over RDMA, and no packet filter sees RDMA of hardware. So each device must be one that was named.
"""

from millrace.plan.policy.model import SmbDirectPolicy
from millrace.system import net, paths
from millrace.system.names import several

OFF = "SMB Direct is off: name its network ports in ports of [smb_direct] in the policy"
NO_MODULES = "this image has no SMB Direct: use one that was built without --stock-modules"
DAEMON = "usr/sbin/ksmbd.mountd"


def obstacle(policy: SmbDirectPolicy) -> str | None:
    """Return why nothing is served over SMB Direct, in words; None where it is."""
    if not policy.ports:
        return OFF
    if not (paths.ROOT / DAEMON).exists():
        return NO_MODULES
    devices = net.rdma_devices()
    known = {name for names in devices.values() for name in names}
    lacking = [name for name in policy.ports if name not in known]
    if lacking:
        return f"{several(lacking)} has no RDMA device: ports of [smb_direct] in the policy names it"
    open_too = unnamed(policy)
    if open_too:
        return (
            f"SMB Direct would answer on {several(open_too)} too: name it in ports of [smb_direct] in the policy, or "
            "take its RDMA device away"
        )
    return None


def unnamed(policy: SmbDirectPolicy) -> list[str]:
    """Return what the kernel's SMB server answers on without being told: RDMA devices of ports that are not named."""
    return [
        ", ".join(sorted(ports)) or device
        for device, ports in net.rdma_devices().items()
        if not ports & set(policy.ports)
    ]
