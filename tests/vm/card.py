# SPDX-License-Identifier: Apache-2.0
"""A network card that is put into a server that runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.vm.box import Box

PORTS = "for port in /sys/class/net/*/device; do basename $(dirname $port); done"
TUNED = "systemctl is-active millrace-tune.service && millrace tune --diff --json | grep -q '\"drift\":\\s*\\[\\]'"


@contextmanager
def card_put_in(box: Box) -> Iterator[str]:
    """Put in the one card that QEMU has with several queues whatever its cable, one for each CPU; yield the port.

    The port is tuned. The card is taken out at the end.
    """
    before = set(box.say(PORTS).split())
    box.machine.qmp("netdev_add", type="user", id="late")
    box.machine.qmp("device_add", driver="igb", id="late0", netdev="late", bus="spare0", romfile="")
    box.machine.wait_command(f"test $({PORTS} | wc -l) -gt {len(before)}", "the new port", 120)
    # it is named anew at first
    box.say("udevadm settle")
    [name] = set(box.say(PORTS).split()) - before
    box.machine.wait_command(f"ip -4 addr show {name} | grep -w inet", "its address", 300)
    box.machine.wait_command(TUNED, "a tuned port", 600)
    try:
        yield name
    finally:
        box.machine.qmp("device_del", id="late0")
        box.machine.wait_command(f"test $({PORTS} | wc -l) = {len(before)}", "the port to be gone", 120)
        box.machine.qmp("netdev_del", id="late")
