# SPDX-License-Identifier: Apache-2.0
"""The recipe of an SMB mount."""

from collections.abc import Sequence

from millrace.measure.client import mount, recipes, sources, systems
from millrace.measure.client.choices import ClientWorkload, Protocol
from millrace.measure.client.model import ClientFile, Expect, Note, Recipe, RecipeChoice
from millrace.measure.client.mount import MountStep
from millrace.measure.client.served import ServedShare
from millrace.measure.client.trunking import host_name
from millrace.system.errors import BadInput, Refused
from millrace.system.rule import Check, Rule

NO_DIRECT = (
    "the share {name} is not on SMB Direct, which is neither signed nor encrypted: use --protocol nfs-rdma for RDMA or "
    "smb-multichannel for SMB"
)

DEFAULT_USER = "admin"

USER = Rule(
    Check(
        r"(?:[A-Za-z0-9.-]{1,63}\\)?[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}",
        "$0 is not the name of a user: write NAME or DOMAIN\\NAME",
    )
)


def recipe(
    served: ServedShare, workload: ClientWorkload, protocol: Protocol, host: str | None, user: str | None
) -> Recipe:
    """Return the recipe. Refused: the share is not on SMB. BadInput: `user` is no name of a user."""
    if served.direct:
        raise Refused(f"the share {served.name} is on SMB Direct alone: use --protocol smb-rdma")
    if not served.smb:
        raise Refused(f"the share {served.name} is not on SMB: use --protocol nfs-tcp, or switch SMB on")
    name = host_name(host) if host else str(served.addresses[0].ip)
    credentials = _credentials(served, user or DEFAULT_USER)
    options = [
        *recipes.smb_common(served.posix),
        *recipes.smb_caching(workload, served.leases),
        *_required_options(served),
    ]
    left_out = [*recipes.SMB_LEFT_OUT, *([] if served.posix else recipes.SMB_MIXED_LEFT_OUT)]
    made = _recipe(served, workload, protocol, name, credentials, options, left_out, _notes(served, credentials.path))
    return made.model_copy(update={"systems": systems.systems(name, served.name, user or DEFAULT_USER)})


def direct_recipe(served: ServedShare, workload: ClientWorkload, host: str | None, user: str | None) -> Recipe:
    """Return the recipe of a mount over SMB Direct.

    Refused: the share is not on it, or no RDMA device has an address. BadInput: `user` is no name of a user.
    """
    if not served.direct:
        raise Refused(NO_DIRECT.format(name=served.name))
    served = served.over_rdma()
    name = host_name(host) if host else str(served.addresses[0].ip)
    credentials = _credentials(served, user or DEFAULT_USER)
    options = [*recipes.smb_direct(), *recipes.smb_caching(workload, True), *_required_options(served)]
    notes = [*_notes(served, credentials.path)[:1], *recipes.SMB_DIRECT_NOTES]
    return _recipe(served, workload, Protocol.SMB_RDMA, name, credentials, options, recipes.SMB_DIRECT_LEFT_OUT, notes)


def _recipe(
    served: ServedShare,
    workload: ClientWorkload,
    protocol: Protocol,
    name: str,
    credentials: ClientFile,
    options: list[RecipeChoice],
    left_out: list[RecipeChoice],
    notes: list[Note],
) -> Recipe:
    main = MountStep(
        description=f"Millrace share {served.name}",
        fstype="cifs",
        source=f"//{name}/{served.name}",
        mountpoint=f"/mnt/{served.name}",
        options=[*(choice.option for choice in options), f"credentials={credentials.path}"],
    )
    return Recipe(
        share=served.name,
        workload=workload,
        protocol=protocol,
        host=name,
        mountpoint=main.mountpoint,
        source=main.source,
        options=options,
        left_out=left_out,
        files=[credentials],
        prepare=[],
        fstab=[mount.fstab(main)],
        fstab_commands=mount.activation([main], enable=False),
        unit_commands=mount.activation([main], enable=True),
        units=mount.units(main),
        commands=mount.commands(main),
        notes=notes,
        zone=None,
        expect=_expect(served, workload, protocol, options),
    )


def _credentials(served: ServedShare, user: str) -> ClientFile:
    problem = USER.problem(user)
    if problem is not None:
        raise BadInput(problem)
    domain, _, name = user.rpartition("\\")
    # A member of a domain asks the domain for every name that is not marked as one of this server.
    where = domain or (served.domain.machine if served.domain else None)
    line = f"domain={where}\n" if where else ""
    text = f"username={name}\n{line}password=\n"
    return ClientFile(path=f"/etc/millrace-{served.name}.credentials", mode="0600", text=text)


def _required_options(served: ServedShare) -> list[RecipeChoice]:
    if not served.read_only:
        return []
    return [RecipeChoice(option="ro", reason="the share is read-only", source=sources.CIFS_MANUAL)]


def _notes(served: ServedShare, credentials: str) -> list[Note]:
    notes = [
        Note(text=f"Write the password into {credentials}; only root may read that file.", source=sources.CIFS_MANUAL),
        Note(
            text="One smbd process serves each client; its main thread limits a client to about 3 GB/s encrypted. For "
            "more, mount the share several times with `nosharesock` and split the directories over the mounts; "
            "several clients are not affected.",
            source=sources.CIFS_PROCESS,
        ),
        Note(
            text="Additional channels use the ports that the server advertises; each port that this client cannot "
            "reach delays every mount.",
            source=sources.CIFS_CLIENT,
        ),
    ]
    if not served.posix:
        text = "Files belong to root on this client: add uid=NAME,gid=NAME for another user."
        notes.append(Note(text=text, source=sources.CIFS_MANUAL))
    return notes


def _expect(
    served: ServedShare, workload: ClientWorkload, protocol: Protocol, options: Sequence[RecipeChoice]
) -> Expect:
    # multichannel is printed as max_channels.
    printed = [choice.option for choice in options if choice.option != "multichannel"]
    return Expect(
        share=served.name,
        workload=workload,
        protocol=protocol,
        fstype="cifs",
        source=served.name,
        port=recipes.SMB_PORT,
        options={key: value for key, _, value in (text.partition("=") for text in printed)},
        lanes=1 if protocol is Protocol.SMB_RDMA else recipes.CHANNELS,
        lane_addresses=[],
        modules=[],
        encrypted=protocol is not Protocol.SMB_RDMA,
        mtu=served.mtu,
    )
