# SPDX-License-Identifier: Apache-2.0
"""A mount as a line of /etc/fstab, as systemd units and as a command: three spellings of one thing."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.measure.client.escape import fstab_field, unit_name, unit_value
from millrace.measure.client.model import ClientFile
from millrace.system.render import render

UNITS = "/etc/systemd/system"

# A server that is down holds up what touches the mount, never the boot.
TIMEOUT = 60


@dataclass(frozen=True)
class MountStep:
    """What is mounted where. `follows` is the mount point of the mount that brings this one with it."""

    description: str
    fstype: str
    source: str
    mountpoint: str
    options: Sequence[str]
    follows: str | None = None


def fstab(mount: MountStep) -> str:
    """Return the line of /etc/fstab; systemd.mount(5) has the x-systemd options."""
    if mount.follows:
        leader = unit_name(mount.follows, "mount")
        systemd = [f"x-systemd.wanted-by={leader}", f"x-systemd.after={leader}"]
    else:
        systemd = ["x-systemd.automount"]
    options = [*mount.options, "_netdev", "nofail", *systemd, f"x-systemd.mount-timeout={TIMEOUT}s"]
    fields = (mount.source, mount.mountpoint, mount.fstype, ",".join(options))
    return " ".join([*(fstab_field(field) for field in fields), "0", "0"])


def units(mount: MountStep) -> list[ClientFile]:
    """Return the .mount unit, and the .automount unit of a mount that does not follow another."""
    files = [
        _unit(
            mount,
            "mount",
            description=unit_value(mount.description),
            source=unit_value(mount.source),
            fstype=mount.fstype,
            options=unit_value(",".join(mount.options)),
            timeout=TIMEOUT,
            leader=unit_name(mount.follows, "mount") if mount.follows else None,
        )
    ]
    if not mount.follows:
        files.append(_unit(mount, "automount", description=unit_value(mount.description)))
    return files


def activation(mounts: Sequence[MountStep], enable: bool) -> list[str]:
    """Return shell commands that make systemd read fstab lines, or (`enable`) unit files.

    systemctl(1): `enable` reads unit files again by itself.
    """
    leaders = [unit_name(mount.mountpoint, "automount") for mount in mounts if not mount.follows]
    if not enable:
        return ["systemctl daemon-reload", f"systemctl start {shlex.join(leaders)}"]
    followers = [unit_name(mount.mountpoint, "mount") for mount in mounts if mount.follows]
    # Before the mount that brings them.
    first = [f"systemctl enable {shlex.join(followers)}"] if followers else []
    return [*first, f"systemctl enable --now {shlex.join(leaders)}"]


def commands(mount: MountStep) -> list[str]:
    """Return shell commands that mount it until the next boot."""
    where = shlex.quote(mount.mountpoint)
    options = shlex.quote(",".join(mount.options))
    return [f"mkdir -p {where}", f"mount -t {mount.fstype} -o {options} {shlex.quote(mount.source)} {where}"]


def _unit(mount: MountStep, kind: str, **values: object) -> ClientFile:
    text = render(f"client/{kind}.j2", where=unit_value(mount.mountpoint), **values)
    return ClientFile(path=f"{UNITS}/{unit_name(mount.mountpoint, kind)}", mode="0644", text=text)
