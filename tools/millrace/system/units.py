# SPDX-License-Identifier: Apache-2.0
"""The state of systemd units."""

from millrace.system.run import Runner


def is_active(unit: str, run: Runner) -> bool:
    """Whether systemd has the unit up."""
    return run(["systemctl", "is-active", "--quiet", unit]).status == 0
