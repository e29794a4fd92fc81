# SPDX-License-Identifier: Apache-2.0
"""What the checks look at, read at most once per run."""

import json
from collections.abc import Callable, Sequence
from functools import cached_property

from millrace import command, paths, store
from millrace.command import Result
from millrace.errors import Failed
from millrace.health.model import Finding, Level
from millrace.provision.model import Pool
from millrace.share import interfaces
from millrace.share.interfaces import Interface

Runner = Callable[[Sequence[str]], Result]


def _command(argv: Sequence[str]) -> Result:
    return command.attempt(argv, timeout=20)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(".")


class Host:
    """This server during one run of the checks."""

    def __init__(self, run: Runner = _command) -> None:
        self._run = run

    @cached_property
    def pool(self) -> Pool | None:
        """The pool that exists; BadInput if its file cannot be understood."""
        return store.read_model(paths.pool_file(), Pool) if paths.pool_file().exists() else None

    @cached_property
    def ip_addresses(self) -> str:
        """What iproute2 says of all addresses, as JSON; Failed if it does not."""
        result = self._run(["ip", "-j", "addr"])
        if result.status != 0:
            raise Failed(f"ip does not list the addresses: {_first_line(result.err) or 'no answer'}")
        return result.out

    @cached_property
    def starting(self) -> bool:
        """Whether the boot is still under way: what is not there yet may come."""
        # Without a status: is-system-running exits with 1 for every answer but "running".
        return self._run(["systemctl", "is-system-running"]).out.strip() in ("initializing", "starting")

    def ask(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """What a tool says that only looks."""
        return self._run(argv)

    @cached_property
    def failed_units(self) -> list[str]:
        """Names of the units that failed; Failed if systemd does not say."""
        result = self._run(["systemctl", "--failed", "--output=json"])
        try:
            return [str(unit["unit"]) for unit in json.loads(result.out)]
        except (ValueError, KeyError, TypeError) as error:
            raise Failed(f"systemctl does not list failed units: {_first_line(result.err) or error}") from error

    @cached_property
    def ports(self) -> list[Interface]:
        """The ports on which clients reach this server; Failed if the kernel's list cannot be read."""
        return interfaces.serving(lambda: self._run(["ip", "-j", "addr"]).out)

    def active_state(self, unit: str) -> str:
        """systemd's ActiveState; Failed if systemd does not say."""
        result = self._run(["systemctl", "show", "--property=ActiveState", "--value", unit])
        if result.status != 0 or not result.out.strip():
            raise Failed(f"systemctl does not say how {unit} is: {_first_line(result.err) or 'no answer'}")
        return result.out.strip()

    def absent(self, check: str, sentence: str, todo: str) -> Finding:
        """Something that should be there is not: FAIL, or WARN while the boot is under way."""
        if self.starting:
            return Finding(check=check, level=Level.WARN, sentence=f"{sentence} The server is still starting.")
        return Finding(check=check, level=Level.FAIL, sentence=sentence, todo=todo)
