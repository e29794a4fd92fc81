# SPDX-License-Identifier: Apache-2.0
"""A library that smbd preloads, and the environment file by which its unit does: in the package, beside the modules."""

import shutil
from pathlib import Path

from host.modules.compile import inside
from host.modules.environment import Run, checked

SOURCE = Path(__file__).with_name("smbd-names.c")
LIBRARY = Path("usr/lib/millrace/smbd-names.so")
# mkosi.extra/usr/lib/systemd/system/smbd.service.d/40-names.conf reads it where it is.
ENVIRONMENT = Path("usr/lib/millrace/smbd.env")
COMPILE = ("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-s", "-Wl,-z,now")


def add(root: Path, tree: Path, run: Run) -> None:
    """Compile the library in the environment `root` into `tree`, which is below it. Failed: it does not build."""
    shutil.copyfile(SOURCE, root / SOURCE.name)
    (tree / LIBRARY).parent.mkdir(parents=True, exist_ok=True)
    target = f"/{(tree / LIBRARY).relative_to(root)}"
    checked(run, inside(root, [*COMPILE, "-o", target, f"/{SOURCE.name}"]), f"{LIBRARY.name} was not built")
    (tree / ENVIRONMENT).write_text(f"LD_PRELOAD=/{LIBRARY}\n")
