# SPDX-License-Identifier: Apache-2.0
"""The accounts of the desired state and the lock-out of SMB, at every boot."""

from millrace.state.model import Config, User
from millrace.system.run import Runner
from millrace.user import accounts, lockout


def render(config: Config, run: Runner) -> list[User]:
    """Create what is missing; return the new users, who have no password yet."""
    made = accounts.ensure(config, run)
    lockout.enforce(run)
    return [user for user in config.users if user.name in made]
