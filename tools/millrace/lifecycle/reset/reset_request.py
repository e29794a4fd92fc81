# SPDX-License-Identifier: Apache-2.0
"""The request to the next boot: an EFI variable, which systemd-repart in the initrd honours (systemd-factory-reset(8)).

It makes those partitions again that have FactoryReset=yes in /usr/lib/repart.d, which is the root file system alone.
"""

import os

from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.errors import Failed
from millrace.system.run import Runner, last_words, must

VARIABLES = "sys/firmware/efi/efivars"
REQUEST = f"{VARIABLES}/FactoryResetRequest-8cf2644b-4b0b-428f-9387-6d876050dc67"
TOOL = "/usr/lib/systemd/systemd-factory-reset"


def obstacle() -> str | None:
    """Return why the firmware takes no request, with the remedy; None where nothing is known against it."""
    where = paths.ROOT / VARIABLES
    if not where.is_dir():
        return (
            "this server was not started by UEFI firmware, which a factory reset needs: start it by UEFI, or write the "
            "image to the boot drive again (tools/flash)"
        )
    if os.statvfs(where).f_flag & os.ST_RDONLY:
        return (
            "the EFI variables of this server cannot be written, which a factory reset needs: allow it in the setup of "
            "the firmware, or write the image to the boot drive again (tools/flash)"
        )
    return None


def request(run: Runner) -> None:
    """Let the next boot reset this server. Failed: the firmware does not keep the request; nothing is reset."""
    must(run, [TOOL, "request"])
    # factory-reset.target would reboot without a request that was kept, too
    if not is_requested():
        raise Failed("the firmware did not keep the request for a factory reset; nothing was reset")


def is_requested() -> bool:
    """Whether the variable has a request of this boot, which the next one carries out.

    The status of the tool does not say it: where this boot carried one out it stays "complete" (systemd 262,
    factory-reset.c), and a new request is kept all the same.
    """
    try:
        # four bytes of attributes, then UTF-16
        text = (paths.ROOT / REQUEST).read_bytes()[4:].decode("utf-16-le", "replace")
    except OSError:
        return False
    boot = boot_id().replace("-", "")
    return bool(boot) and boot in text.replace("-", "")


def is_carried_out(run: Runner) -> bool:
    """Whether the initrd of this boot took a request; it removes that, also where systemd-repart failed."""
    return run([TOOL, "status"]).out.strip() == "complete"


def restart(run: Runner) -> None:
    """Reboot, which carries out the request. Failed: systemd does not begin it; the next boot resets all the same."""
    done = run(["systemctl", "--no-block", "reboot"])
    if done.status != 0:
        raise Failed(
            f"the factory reset is prepared and the server does not restart by itself ({last_words(done)}): the next "
            "boot resets it; restart it with systemctl reboot"
        )
