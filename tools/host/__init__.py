# SPDX-License-Identifier: Apache-2.0
"""What a build host does: build the image, run it, test it."""
