# SPDX-License-Identifier: Apache-2.0
"""Long stories of booted servers, run by hand: `tools/test soak`; docs/evidence/soak.md keeps the results."""

from tests.vm.conftest import accelerator, client_images, image

__all__ = ["accelerator", "client_images", "image"]
