# SPDX-License-Identifier: Apache-2.0
"""`python -m host.modules`: build the package of modules that `tools/build` installs, without an image."""

import argparse

from host import apt
from host.entry import finish
from host.layout import caches
from host.modules.prepare import prepare


def main(arguments: list[str]) -> int:
    """Build the package where it is not in the cache, and print where it is. Failed: as `prepare`."""
    parser = argparse.ArgumentParser(
        prog="python -m host.modules",
        description="Build the kernel modules that Debian leaves out, as a package for tools/build.",
    )
    parser.parse_args(arguments)
    print(prepare(caches(), apt.archive_uri()))
    return 0


if __name__ == "__main__":
    finish(main)
