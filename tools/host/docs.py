# SPDX-License-Identifier: Apache-2.0
"""`tools/docs`: the manual as a web site that is read from files; a link that leads nowhere fails it."""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from host.entry import finish
from host.layout import REPO, Caches, caches
from millrace.system.errors import Failed

SITE = REPO / "site"
CONFIG = REPO / "tools/host/mkdocs.yml"
LOCK = REPO / "tools/host/requirements-docs.lock"
GENERATORS = (
    "tests.unit.plan.table_of_servers",
    "tests.unit.plan.table_of_sizes",
    "tests.unit.plan.table_of_policy",
    "tests.unit.measure.client.example_fstab",
    "tests.unit.wings",
    "host.soak_rows",
    "host.suites.page",
    "tests.unit.boot.units_map",
    "tests.unit.system.jobs.table_of_pairs",
)
"""Programs that write their part of the manual into its pages."""


def generator(cache: Caches) -> Path:
    """Return mkdocs of the lock file, installed where it is not in the cache yet. Failed: pip cannot get it."""
    place = cache.root / f"docs-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]}"
    if not (place / "complete").is_file():
        shutil.rmtree(place, ignore_errors=True)
        print("Installing the generator of the manual", flush=True)
        venv.create(place, with_pip=True)
        log = cache.root / "docs.log"
        pip = [f"{place}/bin/pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", str(LOCK)]
        with log.open("w") as out:
            done = subprocess.run(pip, stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Failed(f"the generator of the manual cannot be installed, see {log}.")
        (place / "complete").touch()
    return place / "bin/mkdocs"


def build(mkdocs: Path, site: Path, config: Path = CONFIG) -> str:
    """Build the web site into the directory `site`; return what mkdocs complains of, nothing where all is well."""
    # Not --quiet: strict counts what is printed.
    argv = [str(mkdocs), "build", "--strict", f"--config-file={config}", f"--site-dir={site}"]
    # The theme advertises its successor on every build.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("INFO ")]
    return ("\n".join(said).strip() or "mkdocs failed") if done.returncode else ""


def check(cache: Caches) -> str:
    """Build into a temporary directory; return the errors of mkdocs."""
    with tempfile.TemporaryDirectory(prefix="millrace-docs-") as site:
        return build(generator(cache), Path(site))


def main(arguments: list[str]) -> int:
    """Build the manual into site/. Failed: a link is broken, or the generator reports another error."""
    parser = argparse.ArgumentParser(prog="tools/docs", description="Build the manual as a web site.")
    parser.add_argument("--write", action="store_true", help="first write the generated parts into docs/")
    if parser.parse_args(arguments).write:
        environment = os.environ | {"PYTHONPATH": f"{REPO / 'tools'}:{REPO}"}
        for module in GENERATORS:
            subprocess.run([sys.executable, "-m", module], cwd=REPO, env=environment, check=True)
    if complaint := build(generator(caches()), SITE):
        raise Failed(f"The manual cannot be built:\n{complaint}")
    print(f"The manual is in {SITE.relative_to(REPO)}/index.html.")
    return 0


if __name__ == "__main__":
    finish(main)
