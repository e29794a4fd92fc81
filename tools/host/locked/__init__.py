# SPDX-License-Identifier: Apache-2.0
"""Every package that an image was built from, by hash, and builds from these files and nothing else."""
