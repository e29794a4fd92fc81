# SPDX-License-Identifier: Apache-2.0
"""What a look or a write leaves behind that was killed in the middle: swept by the next change and at every boot."""

from pathlib import Path

from millrace import paths
from millrace.etc.rendered import record_file
from millrace.paths import LOOK
from millrace.share import nfs, quota, smb
from millrace.share.smb_account import drop
from millrace.state import files
from millrace.system import mounts
from millrace.system.run import Runner

# Each is written under the lock of the wanted state, through a temporary file beside it (system.files.write_text).
_WRITTEN = (nfs.EXPORTS, nfs.SETTINGS, nfs.LOOK, smb.CONFIGURATION, quota.PROJECTS, quota.PROJECT_NAMES)


def sweep(run: Runner) -> None:
    """Remove mounts, exports, the account and half-written files of a killed change. The caller holds the lock."""
    # Not os.path.ismount: that asks the server, which may not export it any more.
    mounted = {one.point for one in mounts.table(process="self")}
    for path in paths.run_dir().glob(f"{LOOK}*"):
        if str(path) in mounted:
            run(["umount", "--force", "--lazy", str(path)])
        _remove(path)
    # The table follows with the next exportfs -ra.
    (paths.ROOT / nfs.LOOK).unlink(missing_ok=True)
    drop(run)
    for target in (*(paths.ROOT / name for name in _WRITTEN), files.config_file(), record_file()):
        _remove_halves(target.parent, f".{target.name}.*")
    _remove_halves(files.history_dir(), ".*.json.*")
    _remove_halves(paths.ROOT / "etc/systemd/network", ".40-millrace-*.network.*")


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
