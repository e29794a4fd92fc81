# SPDX-License-Identifier: Apache-2.0
"""/etc after an update: files of the new version replace those that were not changed on this server."""
