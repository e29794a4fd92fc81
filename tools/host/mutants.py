# SPDX-License-Identifier: Apache-2.0
"""`tools/test mutants ROOM`: how many of a sample of small faults in a room its own unit tests find; made by mutmut.

By hand, since 100 faults take a quarter of an hour; docs/evidence/mutants.md keeps the results.
"""

import argparse
import contextlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from host.layout import REPO, cache_root
from host.tree import files
from millrace.system.errors import Failed, Refused

# each room and what of it is mutated: of the benchmark what decides, not what prints
ROOMS = {
    "plan": ["plan", "plan/policy"],
    "provision": ["storage/record", "storage/array", "storage/provision", "storage/assemble", "storage/change"],
    "etc": ["serve/render", "lifecycle/etc"],
    "share": ["serve/share", "serve/clone"],
    "bench": ["measure/bench/plan", "measure/bench/run", "measure/bench/result"],
}
# where one directory has the tests of several parts
TESTS = {"plan": ["plan"], "bench": ["measure/bench"]}
# mutmut 3.8 names a mutant by its path, and takes off `src.` alone: the names must be those that the tests import
SOURCE = "src"
FOUND = {"killed", "timeout", "segfault"}


def copy_tree(target: Path) -> None:
    """Make `target` a copy of the working tree without what git ignores; `tools` is `src` there. Raises Failed."""
    tracked = files(REPO)
    shutil.rmtree(target, ignore_errors=True)
    for source in tracked:
        name = str(source.relative_to(REPO))
        copied = target / (SOURCE + name.removeprefix("tools") if name.startswith("tools/") else name)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copied)


def configure(tree: Path, room: str) -> None:
    """Write mutmut's configuration: mutate one room, run the unit tests of its code only."""
    beside = sorted(path.name for path in tree.iterdir() if path.name != SOURCE)
    lines = {
        "source_paths": [SOURCE],
        "only_mutate": [f"{SOURCE}/millrace/{part}/*.py" for part in ROOMS[room]],
        "also_copy": beside,
        "pytest_add_cli_args_test_selection": [f"tests/unit/{name}" for name in TESTS.get(room, ROOMS[room])],
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        "on_dependency_change": ["ignore"],
    }
    text = "".join(f"{key}=\n" + "".join(f" {value}\n" for value in values) for key, values in lines.items())
    (tree / "setup.cfg").write_text(f"[mutmut]\n{text}")
    # tests find files of the tree beside `tools`
    (tree / "mutants").mkdir()
    (tree / "mutants" / "tools").symlink_to(SOURCE)


def mutants(tree: Path, room: str) -> list[str]:
    """Return the names of all mutants of a room, in order."""
    # mutmut reads its configuration where it stands
    with contextlib.chdir(tree):
        from mutmut.mutation.file_mutation import mutate_file_contents
        from mutmut.utils.format_utils import get_mutant_name

        files = sorted(path for part in ROOMS[room] for path in Path(SOURCE, "millrace", part).rglob("*.py"))
        return [
            get_mutant_name(path, name)
            for path in files
            for name in mutate_file_contents(str(path), path.read_text()).mutant_names
        ]


def _mutmut(tree: Path, *arguments: str) -> str:
    program = Path(sys.executable).with_name("mutmut")
    # hypothesis' profile for CI: the same examples for each mutant, and no deadline on a busy host
    environment = os.environ | {"CI": "1"}
    done = subprocess.run(
        [program, *arguments], cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise Failed(f"mutmut {arguments[0]} failed with status {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def survivors(results: str, sample: Sequence[str]) -> dict[str, str]:
    """Return those of the sample that the tests did not find, with mutmut's word for it; `results` is what it lists."""
    rows = (line.strip().rpartition(": ") for line in results.splitlines() if ": " in line)
    status = {name: word for name, _, word in rows}
    return {name: status[name] for name in sample if status.get(name, "killed") not in FOUND}


def revision() -> str:
    """Return the date and the commit of the tree, as two columns."""
    return subprocess.run(
        ["git", "log", "-1", "--format=%cs | %h"], cwd=REPO, capture_output=True, text=True, check=True
    ).stdout.strip()


def report(of: str, room: str, seed: int, total: int, sample: Sequence[str], left: dict[str, str]) -> str:
    """Return a row of the table of docs/evidence/mutants.md, and the survivors below it.

    `total` counts all mutants; `left` has the word of mutmut for each survivor.
    """
    killed = len(sample) - len(left)
    row = f"| {of} | {room} | {seed} | {total} | {len(sample)} | {killed} | {100 * killed // len(sample)} % |"
    return "\n".join([row, *(f"- `{name}`: {word}" for name, word in left.items())])


def main(arguments: list[str]) -> int:
    """Mutate rooms and print the result of each; 0 where mutmut could run.

    Refused: a room has no function to mutate. Failed: mutmut fails.
    """
    parser = argparse.ArgumentParser(prog="tools/test mutants", description="Put faults into a room and run its tests.")
    parser.add_argument("room", nargs="+", help=f"{', '.join(ROOMS)}")
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="mutants of each room (default: 100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which of them (default: 1)")
    options = parser.parse_args(arguments)
    if options.sample < 1:
        parser.error("--sample must be at least 1")
    if unknown := [room for room in options.room if room not in ROOMS]:
        parser.error(f"there is no room {unknown[0]!r}, only {', '.join(ROOMS)}")
    for room in options.room:
        tree = cache_root() / "mutants" / room
        of = revision()
        copy_tree(tree)
        configure(tree, room)
        every = mutants(tree, room)
        if not every:
            raise Refused(f"the room {room} has no function to mutate")
        sample = random.Random(options.seed).sample(every, min(options.sample, len(every)))
        print(f"== {room}: {len(sample)} of {len(every)} mutants", flush=True)
        _mutmut(tree, "run", "--max-children", "1", *sample)
        left = survivors(_mutmut(tree, "results"), sample)
        for name in left:
            print(_mutmut(tree, "show", name), flush=True)
        print(report(of, room, options.seed, len(every), sample, left), flush=True)
    return 0
