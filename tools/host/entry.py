# SPDX-License-Identifier: Apache-2.0
"""How every host tool ends: an error is one sentence on stderr and the exit code of its kind."""

import sys
from collections.abc import Callable

from millrace.system.errors import MillraceError


def finish(main: Callable[[list[str]], int]) -> None:
    """Run `main` with the command line's arguments and exit."""
    try:
        code = main(sys.argv[1:])
    except MillraceError as error:
        print(f"millrace: {error}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        print("millrace: stopped.", file=sys.stderr)
        code = 130
    sys.exit(code)
