# SPDX-License-Identifier: Apache-2.0
"""Does the kernel keep what it acknowledged?"""

from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.provision import md

NAME = "kernel"
PARITY = ("raid5", "raid6")


def check(host: Host) -> list[Finding]:
    """Check which raid456 runs: WARN where it is Debian's; nothing without a parity array or where none is loaded."""
    if host.pool is None or not any(record.array.level in PARITY for record in host.pool.arrays):
        return []
    switch = md.degraded_reads_switch()
    if switch.exists():
        return [Finding(check=NAME, level=Level.OK, sentence="The RAID module has the fixes of Millrace.")]
    if not switch.parents[1].is_dir():
        return []
    sentence = (
        "The RAID module is Debian's: if a drive refuses part of a large write, the array can acknowledge the write "
        "and keep old data."
    )
    todo = "Install an image that was built without --stock-modules."
    return [Finding(check=NAME, kind="stock", level=Level.WARN, sentence=sentence, todo=todo)]
