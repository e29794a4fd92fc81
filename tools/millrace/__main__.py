# SPDX-License-Identifier: Apache-2.0
"""`python3 -m millrace`, which is what /usr/bin/millrace runs."""

from millrace.cli.program import main

main()
