# SPDX-License-Identifier: Apache-2.0
"""The host name: set by systemd-hostnamed, which writes /etc/hostname; the certificate follows that file."""

from millrace.serve.config import store
from millrace.serve.network.model import NetworkChange
from millrace.system import names, paths, sysfs
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Runner, must
from millrace.system.users import only_root


def current() -> str:
    """Return the host name that the kernel has."""
    return sysfs.text(paths.ROOT / "proc/sys/kernel/hostname") or "localhost"


def set_host_name(name: str, run: Runner) -> NetworkChange:
    """Set the host name for good: it ends no connection. BadInput: it is none. Refused: a domain knows this server."""
    only_root()
    problem = names.host_name.problem(name)
    if problem is None and name.rpartition(".")[2].isdigit():
        problem = f"{name!r} is not a host name: it ends in a number, as an address does"
    if problem is None and len(name) > 64:
        problem = "a host name has at most 64 characters"
    if problem is not None:
        raise BadInput(problem)
    domain = store.load().domain
    if domain is not None:
        raise Refused(
            f"the domain {domain.zone} knows this server as {domain.machine}: leave it first (millrace domain leave)"
        )
    must(run, ["hostnamectl", "hostname", name.lower()])
    said = [f"the host name is {name.lower()}", "the certificate of the web console is renewed with it"]
    return NetworkChange(what=f"hostname {name.lower()}", seconds=0, verified=said, warnings=[])
