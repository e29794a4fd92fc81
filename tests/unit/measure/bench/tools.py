# SPDX-License-Identifier: Apache-2.0
"""The tools of a server that benchmarks use."""

from tests.fakes import samples


class Tools(samples.Tools):
    """Of a server that exports its pool to clients of a run."""

    TAKEN = (
        *samples.SERVING,
        "exportfs -s",
        "exportfs -o * *:/srv/pool/.millrace-bench",
        "exportfs -u *:/srv/pool/.millrace-bench",
        "dpkg-query --show --showformat=* fio ...",
        "smbstatus --json",
        "systemd-detect-virt --vm",
        "mount -t tmpfs -o mode=0755,size=1M,nosuid,noexec tmpfs */run/millrace/bench/dev",
        "umount --lazy */run/millrace/bench/dev",
        "xfs_quota -x -c limit?-p?bsoft=0?*?1000 /srv/pool",
    )


class Mounts(Tools):
    """Mounts over NFS and SMB, too."""

    TAKEN = (*Tools.TAKEN, "mount -t nfs4 -o * * *", "mount -t cifs -o * * *", "umount *", "umount --force --lazy *")
