# SPDX-License-Identifier: Apache-2.0
"""ssh: on where /etc/millrace/ssh-enabled exists, or with a key in a credential (ssh.service.d)."""

from millrace.serve.config import store
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.files import write_text
from millrace.system.run import Runner, must
from millrace.system.units import is_active
from millrace.system.users import only_root

UNIT = "ssh.service"
MARKER = "etc/millrace/ssh-enabled"


def is_on(run: Runner) -> bool:
    """Whether ssh accepts connections now."""
    return is_active(UNIT, run)


def switch(on: bool, run: Runner) -> None:
    """Turn ssh on or off, now and at every boot. Refused: no administrator has a key, so nobody could sign in.

    Failed: the service does not start or stop.
    """
    only_root()
    marker = paths.ROOT / MARKER
    if not on:
        marker.unlink(missing_ok=True)
        must(run, ["systemctl", "stop", UNIT])
        return
    people = store.load().people
    of_root = paths.ROOT / "root/.ssh/authorized_keys"
    if not any(person.keys for person, _ in people.values()) and not of_root.exists():
        raise Refused("no administrator has an SSH key, and ssh takes no password: millrace access key add NAME")
    write_text(marker, "")
    must(run, ["systemctl", "start", UNIT])
