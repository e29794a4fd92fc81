# SPDX-License-Identifier: Apache-2.0
"""The recipe of an NFS mount."""

from collections.abc import Sequence

from millrace.measure.client import gpu, kerberos, local_cache, mount, recipes, sources, tls, trunking
from millrace.measure.client.choices import ClientWorkload, Protocol, RecipeWish
from millrace.measure.client.model import ClientFile, Expect, Note, Recipe, RecipeChoice
from millrace.measure.client.mount import MountStep
from millrace.measure.client.served import ServedShare
from millrace.serve.share.networks import CLOSED
from millrace.system.errors import Refused
from millrace.system.net import Address
from millrace.system.render import render

MODPROBE = "/etc/modprobe.d/millrace-nfs.conf"

# How the kernel prints an option that it spells in another way than it takes it.
_PRINTED = {"lookupcache=positive": "lookupcache=pos"}

# A mount over RDMA is found under this name in /proc, whatever was asked for.
_NOT_PRINTED = frozenset({"trunkdiscovery"})


def recipe(served: ServedShare, wanted: RecipeWish, protocol: Protocol) -> Recipe:
    """Return the recipe.

    Refused: the share is not served in this way. BadInput: an address of the client is none.
    """
    workload = wanted.workload
    _refuse(served, workload, protocol)
    if protocol.is_rdma:
        served = served.over_rdma()
    if wanted.local_cache:
        local_cache.refuse(served, workload)
    trunked = protocol.is_trunked
    addresses = (
        trunking.lane_addresses(served.addresses, protocol.is_rdma) if trunked else [str(served.addresses[0].ip)]
    )
    options = [
        *recipes.nfs_common(_transport(workload, protocol)),
        *recipes.NFS_CACHING[workload],
        *required_options(served),
        *(local_cache.OPTIONS if wanted.local_cache else []),
    ]
    # Keys are for names: a ticket for an address does not exist.
    host = wanted.host or kerberos.host_name(served)
    name = trunking.host_name(host) if host else addresses[0]
    if served.xprtsec:
        tls.refuse(served.tls, [name, *(addresses if trunked else [])], served.xprtsec)
    main = MountStep(
        description=f"Millrace share {served.name}",
        fstype="nfs",
        source=_source(name, served.path),
        mountpoint=f"/mnt/{served.name}",
        options=[choice.option for choice in options],
    )
    mounts = [main, *_lane_mounts(main, served, addresses, named=host is not None)] if trunked else [main]
    return Recipe(
        share=served.name,
        workload=workload,
        protocol=protocol,
        host=name,
        mountpoint=main.mountpoint,
        source=main.source,
        options=options,
        left_out=[*recipes.NFS_LEFT_OUT[workload], *recipes.MODULE_LEFT_OUT],
        files=[_modprobe(workload), *_tls_files(served), *(local_cache.files() if wanted.local_cache else [])],
        prepare=[*(tls.PREPARE if served.tls else []), *(local_cache.PREPARE if wanted.local_cache else [])],
        fstab=[mount.fstab(mounting) for mounting in mounts],
        fstab_commands=mount.activation(mounts, enable=False),
        unit_commands=mount.activation(mounts, enable=True),
        units=[unit for mounting in mounts for unit in mount.units(mounting)],
        commands=[line for mounting in mounts for line in mount.commands(mounting)],
        notes=[
            *_notes(served, workload, protocol, addresses),
            *gpu.notes(wanted),
            *(local_cache.NOTES if wanted.local_cache else []),
        ],
        zone=trunking.zone(host, _selected(served.addresses, addresses)).text if trunked and host else None,
        gpu=gpu.settings(wanted.gpu, main.mountpoint, wanted.client_addresses) if wanted.gpu else None,
        expect=_expect(served, wanted, protocol, options, addresses),
    )


def _refuse(served: ServedShare, workload: ClientWorkload, protocol: Protocol) -> None:
    if not served.nfs:
        raise Refused(f"the share {served.name} is not on NFS: use --protocol smb-multichannel, or switch NFS on")
    if served.closed:
        raise Refused(f"no client can mount {served.name}: {CLOSED}")
    if workload is ClientWorkload.KVCACHE and served.read_only:
        raise Refused(f"the share {served.name} is read-only, and a KV cache is written: create a share of its own")
    if protocol.is_rdma and served.xprtsec:
        raise Refused(f"the share {served.name} asks for TLS, which is for TCP only: use --protocol nfs-tcp")


def _transport(workload: ClientWorkload, protocol: Protocol) -> list[RecipeChoice]:
    if protocol.is_rdma:
        return recipes.rdma_trunked() if protocol.is_trunked else recipes.rdma()
    return recipes.trunked() if protocol.is_trunked else recipes.tcp(workload)


def required_options(served: ServedShare) -> list[RecipeChoice]:
    """Return the options that the share itself asks of a mount."""
    choices = []
    if served.read_only:
        choices.append(RecipeChoice(option="ro", reason="the share is read-only", source=sources.NFS_MANUAL))
    if served.sec:
        choices.append(
            RecipeChoice(option=f"sec={served.sec}", reason="required by the share", source=sources.NFS_MANUAL)
        )
    if served.xprtsec:
        reason = "the share requires TLS; the client needs tlshd"
        choices.append(RecipeChoice(option=f"xprtsec={served.xprtsec}", reason=reason, source=sources.TLS_TCP))
    return choices


def _lane_mounts(main: MountStep, served: ServedShare, addresses: Sequence[str], named: bool) -> list[MountStep]:
    # The same options as the main mount: whichever the client mounts first decides nconnect for all.
    return [
        MountStep(
            description=f"Millrace share {served.name}: lane to {lane.address}",
            fstype=main.fstype,
            source=_source(lane.address, served.path),
            mountpoint=lane.mountpoint,
            options=main.options,
            follows=main.mountpoint,
        )
        for lane in trunking.lanes(served.name, addresses, named)
    ]


def _source(host: str, path: str) -> str:
    return f"[{host}]:{path}" if ":" in host else f"{host}:{path}"


def _selected(addresses: Sequence[Address], chosen: Sequence[str]) -> list[Address]:
    return [one for one in addresses if str(one.ip) in chosen]


def _modprobe(workload: ClientWorkload) -> ClientFile:
    text = render(
        "client/modprobe.j2",
        workload=workload,
        parameters=recipes.module_parameters(workload),
        left_out=recipes.MODULE_LEFT_OUT,
    )
    return ClientFile(path=MODPROBE, mode="0644", text=text)


def _tls_files(served: ServedShare) -> list[ClientFile]:
    return tls.files(served.tls, served.xprtsec) if served.tls and served.xprtsec else []


# A cache has a life of its own: it fills what it may, and nothing in it is worth a snapshot.
_KVCACHE = [
    Note(
        text="Give a KV cache a share of its own with a size, so that it cannot fill the pool: "
        "millrace share create kvcache --type checkpoint --size 10T. The engine evicts blocks at its own "
        "limit, which must be lower.",
        source=sources.KVCACHE,
    ),
    Note(
        text="Leave the share out of backups: every block can be computed again. A full share is an error of "
        "the engine (ENOSPC), not of the server.",
        source=sources.KVCACHE,
    ),
]


def _notes(served: ServedShare, workload: ClientWorkload, protocol: Protocol, addresses: Sequence[str]) -> list[Note]:
    notes = [
        Note(
            text="The first mount of a server sets nconnect for all its mounts: unmount existing ones first.",
            source=sources.NFS_MANUAL,
        ),
        Note(
            text="All connections share one session: max_session_slots limits the requests in flight (128 at 200 µs "
            "are 640,000 per second), not nconnect.",
            source=sources.NFS_SLOTS,
        ),
        Note(
            text="The groups of a user are those on the server. Groups on the client count only for users whose ID "
            "does not exist on the server.",
            source=sources.MOUNTD,
        ),
        *kerberos.notes(served, protocol),
        *(_KVCACHE if workload is ClientWorkload.KVCACHE else []),
    ]
    if served.tls and served.xprtsec:
        notes += tls.notes(served.tls, served.xprtsec)
    if protocol.is_trunked:
        notes += trunking.notes(addresses, len(served.addresses), protocol.is_rdma)
    if protocol.is_rdma:
        text = "The client needs an RDMA device on the same fabric as the server; TLS is not available over RDMA."
        notes.append(Note(text=text, source=sources.TLS_TCP))
    return notes


def _expect(
    served: ServedShare,
    wanted: RecipeWish,
    protocol: Protocol,
    options: Sequence[RecipeChoice],
    addresses: Sequence[str],
) -> Expect:
    workload, rdma = wanted.workload, protocol.is_rdma
    printed = [_PRINTED.get(choice.option, choice.option) for choice in options if choice.option not in _NOT_PRINTED]
    trunked = protocol.is_trunked
    single = recipes.RDMA_CONNECTIONS if rdma else recipes.TCP_CONNECTIONS[workload]
    return Expect(
        share=served.name,
        workload=workload,
        protocol=protocol,
        fstype="nfs",
        source=served.path,
        port=recipes.RDMA_PORT if rdma else recipes.NFS_PORT,
        options={key: value for key, _, value in (text.partition("=") for text in printed)},
        lanes=trunking.connections(addresses, rdma) if trunked else single,
        lane_addresses=list(addresses) if trunked else [],
        modules=recipes.module_parameters(workload),
        encrypted=served.xprtsec is not None,
        mtu=served.mtu,
        gpu=wanted.gpu,
        truststore=tls.AUTHORITY if served.tls and served.xprtsec and served.tls.trust else None,
        authorities=tls.authorities(served.tls) if served.tls and served.xprtsec else [],
    )
