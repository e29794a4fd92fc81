# SPDX-License-Identifier: Apache-2.0
"""The pool as it is now: arrays, members, rebuilds, file system, share usage."""
