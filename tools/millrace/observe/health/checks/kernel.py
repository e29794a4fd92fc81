# SPDX-License-Identifier: Apache-2.0
"""Does the kernel keep what it acknowledged, ask for the groups of users, and ask each host for its secret?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from millrace.inventory import patched
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.array import md
from millrace.system import paths

NAME = "kernel"
PARITY = ("raid5", "raid6")
REBUILT = "Install an image that was built without --stock-modules."
RESTART = "Restart the server: systemctl reboot. If this warning stays, install the image again."


@dataclass(frozen=True)
class FixedModule:
    """A module that the image has with patches (tools/host/modules/patches).

    `title` begins a sentence. `without` is what a module does that lacks a patch, by the patch's number; `stock` are
    the patches whose lack matters most. `prefix` begins the kinds of the findings.
    """

    name: str
    title: str
    without: Mapping[str, str]
    stock: tuple[str, ...]
    prefix: str = ""


RAID = FixedModule(
    name="raid456",
    title="The RAID module",
    without={
        "0001": "if a drive refuses part of a large write, the array can acknowledge the write and keep old data",
        "0002": "a block that cannot be read can stop a rebuild",
        "0003": "large writes take more processor time",
        "0004": "reads are slower while a drive is missing",
        "0005": "after a repaired bad block, a write beside it can fail with an I/O error",
    },
    stock=("0001",),
)
SWITCHED = "0004"
"""The patch with a parameter, which the kernel shows."""
SUNRPC = FixedModule(
    name="sunrpc",
    title="The NFS module sunrpc",
    without={
        "0006": "over NFS a user has the groups that the client sends and not those of this server",
        "0007": "over NFS a user whom only clients know is in no group",
    },
    stock=("0006",),
    prefix="sunrpc-",
)
NVMET = FixedModule(
    name="nvmet",
    title="The volume module nvmet",
    without={"0008": "a host can read and write a volume without the secret of its export"},
    stock=("0008",),
    prefix="nvmet-",
)
FIXED = (RAID, SUNRPC, NVMET)


def check(host: Host) -> list[HealthFinding]:
    """Check which patches the running modules have: WARN where one lacks some, with what that costs.

    Nothing of a module that is not loaded, and nothing of RAID without a parity array.
    """
    if host.pool is None:
        return []
    parity = any(record.array.level in PARITY for record in host.pool.arrays)
    return [
        _found(module)
        for module in FIXED
        if (module is not RAID or parity) and (paths.ROOT / "sys/module" / module.name).is_dir()
    ]


def _found(module: FixedModule) -> HealthFinding:
    image, running = patched.of(module.name), patched.loaded(module.name)
    switched = module is RAID and md.degraded_reads_switch().exists()
    if image is not None and running == image.build_id:
        lacking = module.without.keys() - {*image.patches}
        if lacking:
            return _lacking(module, "partial", f"lacks {_fixes(lacking)}", lacking, REBUILT)
        return _good(module)
    if image is not None and running is not None and running == image.debian:
        return _lacking(module, "stock", "is Debian's and not that of the image", module.without, RESTART)
    if image is None and not switched:
        return _lacking(module, "stock", "is Debian's", module.stock, REBUILT)
    return _unknown(module, switched, RESTART if image is not None else REBUILT)


def _good(module: FixedModule) -> HealthFinding:
    count = len(module.without)
    sentence = f"{module.title} has {f'all {count} fixes' if count > 1 else 'the fix'} of Millrace."
    return HealthFinding(check=NAME, level=Level.OK, sentence=sentence)


def _lacking(module: FixedModule, kind: str, what: str, lacking: Collection[str], todo: str) -> HealthFinding:
    costs = "; ".join(module.without[number] for number in sorted(lacking))
    sentence = f"{module.title} {what}: {costs}."
    return HealthFinding(check=NAME, kind=module.prefix + kind, level=Level.WARN, sentence=sentence, todo=todo)


def _fixes(lacking: Collection[str]) -> str:
    return f"fix{'es' * (len(lacking) > 1)} {', '.join(sorted(lacking))} of Millrace"


def _unknown(module: FixedModule, switched: bool, todo: str) -> HealthFinding:
    """A module of another build: the parameter of one patch is all that is known of it."""
    lacks = module is RAID and not switched
    known = f" It lacks fix {SWITCHED}: {RAID.without[SWITCHED]}." if lacks else ""
    sentence = f"{module.title} is from another build than the image, and its fixes are not known.{known}"
    return HealthFinding(check=NAME, kind=f"{module.prefix}unknown", level=Level.WARN, sentence=sentence, todo=todo)
