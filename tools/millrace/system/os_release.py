# SPDX-License-Identifier: Apache-2.0
"""What this system says of itself in os-release(5)."""

from millrace.system import paths

UNKNOWN = "(unknown version)"


def image_version() -> str:
    """Return IMAGE_VERSION of os-release, or `(unknown version)`."""
    return _value("IMAGE_VERSION") or UNKNOWN


def _value(wanted: str) -> str | None:
    for name in ("etc/os-release", "usr/lib/os-release"):
        path = paths.ROOT / name
        for line in path.read_text().splitlines() if path.exists() else []:
            key, _, value = line.partition("=")
            if key == wanted:
                return value.strip("\"'")
    return None
