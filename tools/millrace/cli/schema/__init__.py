# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of the output of every verb with `--json`, and the input rules of the pages' forms."""
