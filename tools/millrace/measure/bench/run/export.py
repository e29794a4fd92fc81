# SPDX-License-Identifier: Apache-2.0
"""The export of the benchmark's directory, to one address at a time, for as long as it is measured.

It is in a file of its own as well: `exportfs -ra`, which each change of a share and each event of a link leads to,
drops what is in no file, and the client that measures with it. At boot systemd-tmpfiles removes the file of a run that
a power cut ended.
"""

import pwd
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from millrace.measure.bench.run.local import USER
from millrace.measure.bench.run.space import NAME
from millrace.serve.share import nfs
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import Runner, must
from millrace.system.units import is_active


@contextmanager
def exported(path: Path, address: str, run: Runner) -> Iterator[None]:
    """Export the directory to one address only. Failed: nfsd is not running, or exportfs fails."""
    if not is_active("nfs-server.service", run):
        raise Failed("the NFS server is not running: systemctl status nfs-server.service")
    who = pwd.getpwnam(USER)
    identity = f"all_squash,anonuid={who.pw_uid},anongid={who.pw_gid},fsid={uuid5(NAMESPACE_URL, str(path))}"
    options = f"rw,sync,no_wdelay,no_subtree_check,{nfs.SIGNED},secure,{identity}"
    target = f"{address}:{path}"
    with ExitStack() as stack:
        # last: a file that had it still would bring it back
        stack.callback(run, ["exportfs", "-u", target])
        stack.enter_context(_listed(f"{path} {address}({options})"))
        must(run, ["exportfs", "-o", options, target])
        yield


def release(run: Runner) -> list[str]:
    """Remove every export of a benchmark, of any run; return which ones."""
    _rewrite(lambda lines: [])
    if not is_active("nfs-server.service", run):
        return []
    targets = []
    for line in run(["exportfs", "-s"]).out.splitlines():
        words = line.split()
        if len(words) >= 2 and f"/{NAME}" in words[0]:
            target = f"{words[1].partition('(')[0]}:{words[0]}"
            run(["exportfs", "-u", target])
            targets.append(target)
    return targets


@contextmanager
def _listed(line: str) -> Iterator[None]:
    _rewrite(lambda lines: [*lines, line])
    try:
        yield
    finally:
        _rewrite(lambda lines: [one for one in lines if one != line])


def _rewrite(changed: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of the file; one without lines is removed."""
    path = paths.ROOT / nfs.BENCH_EXPORTS
    now = path.read_text().splitlines() if path.exists() else []
    lines = changed(now)
    if lines:
        write_text(path, "".join(f"{line}\n" for line in lines))
    else:
        path.unlink(missing_ok=True)
