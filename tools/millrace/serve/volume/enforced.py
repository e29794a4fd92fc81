# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel enforces the secrets of hosts: Debian's nvmet asks for them on one queue of several."""

from millrace.inventory import patched

MODULE, FIX = "nvmet", "0008"


def asks_for_secrets() -> bool:
    """Whether nvmet asks each queue of a host for its secret: the one that is loaded, else that of the image."""
    image, running = patched.of(MODULE), patched.loaded(MODULE)
    return image is not None and FIX in image.patches and running in (None, image.build_id)
