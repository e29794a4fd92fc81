# SPDX-License-Identifier: Apache-2.0
"""Installation of this version on another drive: from a USB drive or virtual media, or onto a spare boot drive."""
