# SPDX-License-Identifier: Apache-2.0
"""Compile the sets in their environment.

The compiler runs without a network and sees no file of the host: the same packages give the same bytes.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from host.modules import sets
from host.modules.environment import BUILD, Packages, Run, checked, run_quietly
from host.modules.sets import ModuleSet
from millrace.system.errors import Failed

UNDEFINED = re.compile(r'modpost: "([^"]+)" \[([^\]]+)\] undefined')
ERROR = re.compile(r"^((?:\S+:\d+:(?:\d+:)? )?(?:fatal )?error: .+)$", re.MULTILINE)
# Without fuzz: a change of the kernel beside a patched place may be the same mend, or one that the patch undoes.
PATCH = ("patch", "--strip=1", "--fuzz=0", "--batch", "--forward", "--reject-file=-", "--no-backup-if-mismatch")
# What stands below `sh -c`: $0 is the environment, the rest is the command in it.
# objtool reads its limits from /proc.
ENTER = 'mount --bind /dev/null "$0/dev/null" && mount --rbind /proc "$0/proc" && exec chroot "$0" /usr/bin/env -i "$@"'
ENVIRONMENT = ("PATH=/usr/bin:/usr/sbin", "LC_ALL=C", "TZ=UTC", "HOME=/")


def inside(root: Path, argv: Sequence[str]) -> list[str]:
    """Return the command that runs `argv` in the environment `root`, without a network."""
    enter = ["unshare", "--map-root-user", "--mount", "--net", "--", "sh", "-c", ENTER, str(root)]
    return [*enter, *ENVIRONMENT, *argv]


def make(module_set: ModuleSet, abi: str, jobs: int) -> list[str]:
    """Return make's command line for a set; `jobs` compilers run at once."""
    return [
        "make",
        f"--directory=/usr/src/linux-headers-{abi}",
        f"--jobs={jobs}",
        f"M=/{BUILD}/{module_set.place}",
        *module_set.config,
        f"KCFLAGS={' '.join(module_set.macros)}",
        # No debugging information: it takes time and is removed. BTF needs that of vmlinux, too, which no package has.
        "CONFIG_DEBUG_INFO=",
        "CONFIG_DEBUG_INFO_BTF_MODULES=",
        *module_set.targets,
    ]


def reason(text: str) -> str:
    """Return why the compiler failed: undefined symbols by name, or its first error."""
    if found := UNDEFINED.findall(text):
        symbols = sorted({symbol for symbol, _ in found})
        modules = sorted({module.rpartition("/")[2] for _, module in found})
        return f"{', '.join(modules)}: this kernel does not export {', '.join(symbols)}"
    if error := ERROR.search(text):
        return error[1]
    return (text.strip().splitlines() or ["no reason was given"])[-1]


def change(one: ModuleSet, root: Path, found: Packages, run: Run = run_quietly) -> None:
    """Apply the patches of a set in the environment `root`. Failed: a place is not as the patch has it."""
    for path in one.changes:
        shutil.copyfile(path, root / path.name)
        done = run(inside(root, [*PATCH, f"--directory=/{BUILD}", f"--input=/{path.name}"]))
        if done.returncode != 0:
            raise Failed(
                f"Kernel {found.version} is not as {path.name} expects it ({reason(done.stdout)}); "
                "report this as a bug, and use tools/build --stock-modules until it is mended."
            )


def compile_set(module_set: ModuleSet, root: Path, packages: Packages, jobs: int, run: Run = run_quietly) -> None:
    """Compile a set in the environment `root`.

    Failed: as `change`, or it does not build, with the symbol or the compiler's error.
    """
    change(module_set, root, packages, run)
    if module_set.top:
        lines = [f"obj-m += {name}/\n" for name in module_set.top]
        (root / BUILD / module_set.place / "Kbuild").write_text("".join(lines))
    done = run(inside(root, make(module_set, packages.abi, jobs)))
    if done.returncode != 0 or UNDEFINED.search(done.stderr):
        raise Failed(
            f"The modules of the set {module_set.name} do not build for kernel {packages.version}: "
            f"{reason(done.stderr)}. Report this as a bug."
        )


def build(root: Path, packages: Packages, target: Path, jobs: int, run: Run = run_quietly) -> list[Path]:
    """Compile all sets and put their modules below `target`, by their path in `updates/`; return these.

    Debugging information is removed. Failed: a set does not build, or a module is missing or for another kernel.
    """
    asn1 = ["gcc", "-O2", f"-I/{BUILD}/include", "-o", "/usr/src/asn1_compiler", f"/{BUILD}/{sets.ASN1_COMPILER[0]}"]
    checked(run, inside(root, asn1), "asn1_compiler was not built")
    scripts = root / f"usr/src/linux-headers-{packages.abi}/scripts"
    shutil.move(root / "usr/src/asn1_compiler", scripts / "asn1_compiler")
    for module_set in sets.SETS:
        compile_set(module_set, root, packages, jobs, run)
    kept = []
    for module in (module for module_set in sets.SETS for module in module_set.modules):
        built, path = root / BUILD / f"{module}.ko", target / f"{module}.ko"
        if not built.is_file():
            raise Failed(f"Kernel {packages.version} makes no {module}.ko any more; report this as a bug.")
        checked(run, inside(root, ["strip", "--strip-debug", f"/{BUILD}/{module}.ko"]), f"{module}.ko was not stripped")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built, path)
        kept.append(path)
    return kept
