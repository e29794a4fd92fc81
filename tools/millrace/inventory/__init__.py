# SPDX-License-Identifier: Apache-2.0
"""What is in this server. Reads sysfs, procfs and the drives' own labels; writes nothing."""
