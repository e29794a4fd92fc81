# SPDX-License-Identifier: Apache-2.0
"""The oneshots of a boot that are not Millrace's own, with what ends their failure (own ones: tests/unit/boot)."""

import re

SYSTEMD = "of systemd: it reads the image and /etc, which the next start reads again; nothing that serves requires it"
CLEANING = "its timer starts it again; nothing depends on it"
ASKED = "who needs it starts it again"
NONE = "it sets what the kernel has by default, or has nothing to do on this server"
KNOWN = {
    SYSTEMD: (
        r"systemd|systemd-.*",
        r"(initrd|dracut|sysroot|kmod|ldconfig|cryptsetup|veritysetup|blk-availability|dev-).*",
    ),
    ASKED: (r"(modprobe|user-runtime-dir|quotaon)@.*",),
    "tried again every 30 s (nfs-server.service.d)": (r"nfs-server",),
    "its rules are read again by the next start; health names a unit that failed": (r"nftables",),
    CLEANING: (r"(fstrim|mdmonitor-oneshot|mdcheck.*|logrotate|man-db|dpkg-db-backup|apt-.*|e2scrub.*|xfs_.*)",),
    NONE: (
        r"(rpc-statd-notify|nfs-utils|nfs-config|fsidd|auth-rpcgss-module|proc-fs-nfsd|rpc_pipefs)",
        r"(nvmf-.*|nvme.*|mdadm.*|lvm2-.*|console-setup|keyboard-setup|samba-ad-dc|cockpit-.*)",
        r"(smartmontools.*|getty-static|rc-local|emergency|rescue)",
    ),
}


def unknown(names: list[str]) -> list[str]:
    """Return those of some oneshots of a boot of which nobody has said what ends their failure."""
    patterns = [re.compile(pattern) for known in KNOWN.values() for pattern in known]
    stems = {name: name.removesuffix(".service") for name in names if not name.startswith("millrace-")}
    return sorted(name for name, stem in stems.items() if not any(pattern.fullmatch(stem) for pattern in patterns))
