# SPDX-License-Identifier: Apache-2.0
"""The configuration of smbd, verified by Samba's own tool before it replaces the old one."""

import os
import re
import tempfile
from collections.abc import Callable, Sequence

from millrace.plan.defaults import SmbdSettings
from millrace.serve.config.model import Domain
from millrace.serve.domain import ids
from millrace.serve.share import smb_names
from millrace.serve.share.model import Share
from millrace.serve.share.smb_parameters import parameters
from millrace.system.errors import Failed
from millrace.system.net import Interface
from millrace.system.render import render
from millrace.system.run import Result, last_words

CONFIGURATION = "etc/samba/smb.conf"

# testparm forgives these with status 0, smbd then runs without the setting.
_COMPLAINT = re.compile(r"unknown parameter|ignoring", re.IGNORECASE)

# A process of smbd has 8 MiB of its own and serves one client, all its channels; half of the memory is for the cache.
PROCESS_BYTES = 16 << 20
LEAST_PROCESSES, MOST_PROCESSES = 256, 4096
DEFAULTS = SmbdSettings()


def configuration(
    shares: Sequence[Share],
    interfaces: Sequence[Interface],
    domain: Domain | None = None,
    memory: int | None = None,
    smbd: SmbdSettings = DEFAULTS,
    name: str | None = None,
) -> str:
    """Return the text of smb.conf for a server with `memory` bytes; without it, for this one.

    `name` is what Samba is called without a domain; without it, as the host.
    """
    return render(
        f"{CONFIGURATION}.j2",
        shares=shares,
        interfaces=interface_list(interfaces),
        parameters=parameters,
        domain=domain,
        ids=ids,
        smbd=smbd,
        name=name,
        mappings=smb_names.MAPPINGS,
        processes=processes(memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
    )


def processes(memory: int) -> int:
    """Return how many clients smbd serves at once with `memory` bytes; connections that never sign in count, too."""
    return min(max(memory // PROCESS_BYTES, LEAST_PROCESSES), MOST_PROCESSES)


def section(share: Share) -> list[str]:
    """Return the lines of one share in smb.conf; none where it is not on SMB."""
    lines = configuration([share], []).splitlines()
    return lines[lines.index(f"[{share.name}]") :] if share.smb else []


def interface_list(interfaces: Sequence[Interface]) -> str:
    """Return the value of `interfaces`, by name: a new address from DHCP must not leave smbd without a listener."""
    return " ".join(["lo", *(_entry(one) for one in interfaces)])


def _entry(interface: Interface) -> str:
    # Without a speed (virtio) Samba counts 1 Gb/s and no RSS: clients would open one channel.
    if interface.carrier and interface.speed is None:
        return f'"{interface.name};speed=10000000000,capability=RSS"'
    return interface.name


def validate(text: str, run: Callable[[Sequence[str]], Result]) -> None:
    """Verify `text` with testparm. Failed: Samba would not accept it as it is meant, with testparm's words."""
    with tempfile.NamedTemporaryFile("w", prefix="millrace-smb-", suffix=".conf") as candidate:
        candidate.write(text)
        candidate.flush()
        result = run(["testparm", "-s", candidate.name])
    complaint = next((line for line in result.err.splitlines() if _COMPLAINT.search(line)), None)
    if result.status != 0 or complaint:
        words = complaint or last_words(result)
        raise Failed(f"testparm does not accept the new smb.conf, the old one stays: {words}")
