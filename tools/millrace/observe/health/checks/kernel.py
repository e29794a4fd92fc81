# SPDX-License-Identifier: Apache-2.0
"""Does the kernel keep what it acknowledged?"""

from collections.abc import Collection

from millrace.inventory import patched
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.array import md
from millrace.system import paths

NAME = "kernel"
PARITY = ("raid5", "raid6")
MODULE = "raid456"
WITHOUT = {
    "0001": "if a drive refuses part of a large write, the array can acknowledge the write and keep old data",
    "0002": "a block that cannot be read can stop a rebuild",
    "0003": "large writes take more processor time",
    "0004": "reads are slower while a drive is missing",
    "0005": "after a repaired bad block, a write beside it can fail with an I/O error",
}
"""What a RAID module does that lacks a patch, by the number of the patch (tools/host/modules/patches)."""
SWITCHED = "0004"
"""The patch with a parameter, which the kernel shows."""
REBUILT = "Install an image that was built without --stock-modules."
RESTART = "Restart the server: systemctl reboot. If this warning stays, install the image again."


def check(host: Host) -> list[HealthFinding]:
    """Check which patches the running raid456 has: WARN where it lacks one, with what that costs.

    Nothing without a parity array, or where none is loaded.
    """
    if host.pool is None or not any(record.array.level in PARITY for record in host.pool.arrays):
        return []
    if not (paths.ROOT / "sys/module" / MODULE).is_dir():
        return []
    image, running = patched.of(MODULE), patched.loaded(MODULE)
    switched = md.degraded_reads_switch().exists()
    if image is not None and running == image.build_id:
        lacking = WITHOUT.keys() - {*image.patches}
        return [_lacking("partial", f"lacks {_fixes(lacking)}", lacking, REBUILT)] if lacking else [_good()]
    if image is not None and running is not None and running == image.debian:
        return [_lacking("stock", "is Debian's and not that of the image", WITHOUT, RESTART)]
    if image is None and not switched:
        return [_lacking("stock", "is Debian's", ("0001",), REBUILT)]
    return [_unknown(switched, RESTART if image is not None else REBUILT)]


def _good() -> HealthFinding:
    return HealthFinding(
        check=NAME, level=Level.OK, sentence=f"The RAID module has all {len(WITHOUT)} fixes of Millrace."
    )


def _lacking(kind: str, what: str, lacking: Collection[str], todo: str) -> HealthFinding:
    costs = "; ".join(WITHOUT[one] for one in sorted(lacking))
    sentence = f"The RAID module {what}: {costs}."
    return HealthFinding(check=NAME, kind=kind, level=Level.WARN, sentence=sentence, todo=todo)


def _fixes(lacking: Collection[str]) -> str:
    return f"fix{'es' * (len(lacking) > 1)} {', '.join(sorted(lacking))} of Millrace"


def _unknown(switched: bool, todo: str) -> HealthFinding:
    """A module of another build: the parameter of one patch is all that is known of it."""
    known = "" if switched else f" It lacks fix {SWITCHED}: {WITHOUT[SWITCHED]}."
    sentence = f"The RAID module is from another build than the image, and its fixes are not known.{known}"
    return HealthFinding(check=NAME, kind="unknown", level=Level.WARN, sentence=sentence, todo=todo)
