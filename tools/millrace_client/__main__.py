# SPDX-License-Identifier: Apache-2.0
"""Start the benchmark's program: as a package, and as the one file that clients have (`python3 millrace-bench.pyz`)."""

from __future__ import annotations

import sys

from millrace_client.bench import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
