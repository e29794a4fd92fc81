# SPDX-License-Identifier: Apache-2.0
"""/etc of a new version: what it brings, without what was changed on this server."""
