# SPDX-License-Identifier: Apache-2.0
"""What the verbs print with `--json`, as JSON Schema; the types of the web pages are made from it."""
