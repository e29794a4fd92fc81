# SPDX-License-Identifier: Apache-2.0
"""How every host tool ends: an error is one sentence on stderr and the exit code of its kind."""

import sys
from collections.abc import Callable

from millrace.system.errors import MillraceError
from millrace.system.text import one_line


def finish(main: Callable[[list[str]], int]) -> None:
    """Run `main` with the command line's arguments and exit."""
    try:
        code = main(sys.argv[1:])
    except MillraceError as error:
        # names in a file that somebody sent do not reach the terminal as control characters
        print(f"millrace: {one_line(str(error))}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        print("millrace: stopped.", file=sys.stderr)
        code = 130
    sys.exit(code)
