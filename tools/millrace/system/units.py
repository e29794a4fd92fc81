# SPDX-License-Identifier: Apache-2.0
"""What systemd says of its units."""

from millrace.system.run import Runner


def is_active(unit: str, run: Runner) -> bool:
    """Whether systemd has the unit up."""
    return run(["systemctl", "is-active", "--quiet", unit]).status == 0
