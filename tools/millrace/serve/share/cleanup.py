# SPDX-License-Identifier: Apache-2.0
"""Cleanup after a verification or a change that was killed: by the next change and at every boot."""

from pathlib import Path

from millrace.serve.config import files
from millrace.serve.render import rendered
from millrace.serve.share import nfs
from millrace.serve.share.smb_account import drop
from millrace.system import mounts, paths
from millrace.system.paths import VERIFY_PREFIX
from millrace.system.run import Runner


def clean_up(run: Runner) -> None:
    """Remove mounts, exports, account and half-written files of an interrupted change. The caller holds the lock."""
    # Not os.path.ismount: that asks the server, which may not export it any more.
    mounted = {mount.point for mount in mounts.table(process="self")}
    for path in paths.run_dir().glob(f"{VERIFY_PREFIX}*"):
        if str(path) in mounted:
            run(["umount", "--force", "--lazy", str(path)])
        _remove(path)
    # The table follows with the next exportfs -ra.
    (paths.ROOT / nfs.VERIFY_EXPORTS).unlink(missing_ok=True)
    drop(run)
    # Each is written through a temporary file beside it (system.files.write_text), and is in the record before it is.
    written = [paths.ROOT / name for name in (nfs.VERIFY_EXPORTS, *rendered.load().files)]
    for target in (*written, files.config_file(), rendered.record_file()):
        _remove_halves(target.parent, f".{target.name}.*")
    _remove_halves(files.history_dir(), ".*.json.*")


def _remove(path: Path) -> None:
    try:
        path.rmdir()
    except NotADirectoryError:
        path.unlink(missing_ok=True)
    except OSError:
        # Still busy would mean that the unmount failed: the next change tries again.
        pass


def _remove_halves(directory: Path, pattern: str) -> None:
    for path in directory.glob(pattern):
        path.unlink(missing_ok=True)
