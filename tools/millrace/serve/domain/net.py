# SPDX-License-Identifier: Apache-2.0
"""Requests to the domain with Samba's `net`, before this server is a member and after."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millrace.serve.config.model import Domain
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import Result, Runner, last_words

# Seconds for one question: a controller that does not answer must not delay a user or a check.
PATIENCE = "120"


@dataclass(frozen=True)
class DomainController:
    """A domain controller and the domain's short name, as it reports it."""

    name: str
    workgroup: str


@dataclass(frozen=True)
class Net:
    """`net` and the tools of Kerberos; with `directory`, under the files of a membership that does not exist yet."""

    run: Runner
    directory: Path | None = None

    def ads(self, *words: str) -> Result:
        """Run `net ads …`; standard error has the reason of a failure."""
        conf = ["-s", str(self.directory / "smb.conf")] if self.directory else []
        return self.kerberos("net", *conf, "ads", *words)

    def kerberos(self, *words: str, stdin: str | None = None) -> Result:
        """Run a tool that reads krb5.conf."""
        conf = ["env", f"KRB5_CONFIG={self.directory / 'krb5.conf'}"] if self.directory else []
        result = self.run(["timeout", PATIENCE, *conf, *words], stdin)
        return Result(124, result.out, f"no answer in {PATIENCE} s") if result.status == 124 else result

    def controller(self) -> DomainController:
        """Return the controller that answers for the domain. Failed: none does."""
        found = self._document("lookup")
        return DomainController(str(found["Domain Controller"]), str(found["Pre-Win2k Domain"]))

    def clock_offset(self) -> int:
        """Return by how many seconds the controller is ahead of this server. Failed: it does not report its time."""
        offset = self._document("info")["Server time offset"]
        assert isinstance(offset, int)
        return offset

    def _document(self, what: str) -> dict[str, object]:
        result = self.ads(what, "--json")
        try:
            found = json.loads(result.out)
        except ValueError:
            found = None
        if result.status != 0 or not isinstance(found, dict):
            raise Failed(f"no domain controller answers: {last_words(result)}")
        return found


@contextmanager
def read_only_net(domain: Domain, run: Runner) -> Iterator[Net]:
    """Return a `net` that only reads and writes its own state below /run: health may write nothing elsewhere."""
    with private_directory() as directory:
        own = [f"{name} directory = {directory}" for name in ("state", "cache")]
        lines = ["[global]", "security = ads", f"realm = {domain.realm}", f"workgroup = {domain.workgroup}", *own]
        write_text(directory / "smb.conf", "\n".join([*lines, f"private dir = {directory}", ""]))
        (directory / "krb5.conf").touch()
        yield Net(run, directory)


@contextmanager
def private_directory() -> Iterator[Path]:
    """Return a directory under /run for the files of a membership that does not exist yet; it is removed afterwards."""
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="domain-", dir=paths.run_dir()) as name:
        yield Path(name)
