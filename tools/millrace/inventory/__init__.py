# SPDX-License-Identifier: Apache-2.0
"""The hardware of this server. Reads sysfs, procfs and the drives' own labels; writes nothing."""
