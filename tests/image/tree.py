# SPDX-License-Identifier: Apache-2.0
"""A root directory as first boot makes it."""

from pathlib import Path

from host import compare, layout


def make(output: Path, root: Path) -> Path:
    """Make it at `root`, an empty directory: /usr from the built image in `output`, /etc from the factory's."""
    split = next(output.glob("millrace_*.usr-x86-64.raw"))
    compare.extract_erofs(split, root / "usr", layout.caches().stages / "image" / "mkosi.tools")
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc").symlink_to("usr/share/factory/etc")
    for name in ("proc", "dev", "run", "tmp", "var"):
        (root / name).mkdir()
    for name in ("var/lib/samba/private", "var/cache/samba", "run/samba"):
        (root / name).mkdir(parents=True)
    return root
