# SPDX-License-Identifier: Apache-2.0
"""Documents of the verbs with `--json`, as JSON Schema; the types of the web pages are made from them."""
