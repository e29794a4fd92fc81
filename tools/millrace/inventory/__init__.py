# SPDX-License-Identifier: Apache-2.0
"""The hardware of this server, from sysfs, procfs, firmware tables and the drives themselves. Writes to no drive."""
