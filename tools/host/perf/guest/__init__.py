# SPDX-License-Identifier: Apache-2.0
"""What runs inside the emulated machine, on the image's own Python: standard library only."""
