# SPDX-License-Identifier: Apache-2.0
"""Debian's compiler, kernel headers and kernel source, unpacked into a directory that the compiler runs in.

Nothing is installed: no maintainer script runs, and the host's own packages play no part in what is built.
"""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from host import artefacts, sources
from host.modules.sets import ASN1_COMPILER, SETS
from millrace.system.errors import Failed

# The headers bring the compiler that Debian built this kernel with; the rest is what kbuild starts. The daemon of ksmbd
# is Debian's, as it is: its package conflicts with samba, which has other programs for the same port.
PACKAGES = (
    "ksmbd-tools",
    # headers of Samba for the module of its VFS
    "samba-dev",
    # and of PAM, for a module of it
    "libpam0g-dev",
    *("linux-headers-amd64", "linux-source", "make", "libc6-dev", "libssl-dev", "kmod", "xz-utils"),
    *("bash", "coreutils", "dash", "diffutils", "findutils", "grep", "gzip", "mawk", "patch", "perl-base", "sed"),
)
HEADERS = re.compile(r"^linux-headers-(\d\S*-amd64)_([^_]+)_amd64\.deb$")
SOURCE = re.compile(r"^linux-source-(\d[\d.]*)_([^_]+)_all\.deb$")
# Debian's own modules, which the rebuilt ones are compared with; not part of the environment.
DEBIAN = re.compile(r"^linux-modules-\d\S*-amd64_[^_]+_amd64\.deb$")
DAEMON = re.compile(r"^ksmbd-tools_([^_]+)_amd64\.deb$")
URI = re.compile(r"^'[^']+' (\S+\.deb) \d+ ?\S*$")
# Debian compresses the source in blocks, which can be read side by side: half of the time on 2 cores.
UNXZ = "--use-compress-program=xz --decompress --threads=0"
BUILD = Path("build")
"""Where the source is in the environment: one path, whatever the host's, because the compiler writes it down."""

Run = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Packages:
    """The packages of an environment as files, and the kernel that they are for."""

    directory: Path
    files: tuple[str, ...]
    abi: str
    version: str
    source: str

    @property
    def debian(self) -> Path:
        """Return the package of Debian's own modules for this kernel. Failed: it was not fetched."""
        names = [name for name in self.files if DEBIAN.match(name)]
        if len(names) != 1:
            raise Failed(f"The package sources do not have linux-modules-{self.abi}; run host.modules again later.")
        return self.directory / names[0]

    @property
    def daemon(self) -> tuple[Path, str]:
        """Return Debian's package of the daemon of ksmbd, and its version. Failed: it was not fetched."""
        found = [(name, match[1]) for name in self.files if (match := DAEMON.match(name))]
        if len(found) != 1:
            raise Failed("The package sources do not have ksmbd-tools; run host.modules again later.")
        return self.directory / found[0][0], found[0][1]

    @property
    def key(self) -> str:
        """Return a sha256 over the packages' names and contents."""
        lines = [f"{artefacts.sha256(self.directory / name)}  {name}\n" for name in self.files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def run_quietly(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it printed, whatever its exit status."""
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    )


def checked(run: Run, argv: Sequence[str], what: str) -> str:
    """Run a command and return what it printed. Failed, with its last line: it fails; `what` begins the sentence."""
    done = run(argv)
    if done.returncode != 0:
        raise Failed(f"{what}: {sources.reason(done.stderr)}.")
    return done.stdout


def packages(names: Sequence[str], directory: Path) -> Packages:
    """Return which kernel the package files `names` are for.

    Failed: they have no or several kernels, or headers and source of different versions.
    """
    headers = [match for name in names if (match := HEADERS.match(name))]
    source = [match for name in names if (match := SOURCE.match(name))]
    if len(headers) != 1 or len(source) != 1:
        raise Failed("The package sources do not have headers and source of one kernel; run host.modules again later.")
    if headers[0][2] != source[0][2]:
        raise Failed(
            f"The package sources have kernel headers {headers[0][2]} and kernel source {source[0][2]}; "
            "run host.modules again when both are of one version."
        )
    return Packages(directory, tuple(sorted(names)), headers[0][1], headers[0][2], source[0][1])


def fetch(directory: Path, uri: str | None, run: Run = run_quietly) -> Packages:
    """Download the packages into `directory`, where those of earlier kernels are removed; apt verifies their checksums.

    About 400 MB. Failed: there is no package source, or it does not have them.
    """
    if uri is None:
        raise Failed("This host has no Debian package source to fetch kernel source from; set MILLRACE_APT_URI to one.")
    (directory / "partial").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="millrace-modules-") as name:
        status = Path(name) / "status"
        status.touch()
        options = sources.isolated(Path(name), status, uri)
        options += ["-o", "APT::Install-Recommends=false"]
        failed = "The kernel's source cannot be fetched"
        checked(run, ["apt-get", "update", "--quiet", "--error-on=any", *options], failed)
        abi = packages(_names(run, options, PACKAGES, failed), directory).abi
        wanted = [*PACKAGES, f"linux-modules-{abi}"]
        names = _names(run, options, wanted, failed)
        options += ["-o", f"Dir::Cache::archives={directory}"]
        checked(run, ["apt-get", "install", "--download-only", "--yes", "-qq", *options, *wanted], failed)
    for file in directory.glob("*.deb"):
        if file.name not in names:
            file.unlink()
    if missing := [name for name in names if not (directory / name).is_file()]:
        raise Failed(f"apt did not fetch {missing[0]}; run host.modules again.")
    return packages(names, directory)


def _names(run: Run, options: Sequence[str], wanted: Sequence[str], failed: str) -> list[str]:
    """The files of packages and their dependencies: apt lists what its cache lacks, and that of `options` is empty."""
    listed = checked(run, ["apt-get", "install", "--print-uris", "-qq", *options, *wanted], failed)
    return [match[1] for line in listed.splitlines() if (match := URI.match(line))]


def unpack(kernel_packages: Packages, root: Path, run: Run = run_quietly) -> None:
    """Make `root` the environment, with the source of the sets in BUILD. Failed: a package cannot be unpacked."""
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in ("dev", "proc", "tmp"):
        (root / name).mkdir()
    (root / "dev/null").touch()
    for name in kernel_packages.files:
        if not SOURCE.match(name) and not DEBIAN.match(name):
            checked(
                run,
                ["dpkg-deb", "--extract", str(kernel_packages.directory / name), str(root)],
                f"{name} was not unpacked",
            )
    # maintainer scripts make these
    (root / "usr/bin/awk").symlink_to("mawk")
    (root / "usr/bin/gcc").symlink_to(_compiler(root))
    _unpack_source(kernel_packages, root / BUILD, run)


def _compiler(root: Path) -> str:
    """The compiler of the kernel's headers, which builds the helpers too."""
    names = sorted(path.name for path in (root / "usr/bin").glob("x86_64-linux-gnu-gcc-[0-9]*"))
    if len(names) != 1:
        raise Failed(f"The kernel's headers bring {len(names)} compilers instead of 1; report this as a bug.")
    return names[0]


def _unpack_source(kernel_packages: Packages, build: Path, run: Run) -> None:
    build.mkdir()
    (deb,) = [name for name in kernel_packages.files if SOURCE.match(name)]
    top = f"linux-source-{kernel_packages.source}"
    wanted = [f"{top}/{path}" for module_set in SETS for path in module_set.sources] + [
        f"{top}/{path}" for path in ASN1_COMPILER
    ]
    with TemporaryDirectory(prefix="millrace-source-", dir=build) as name:
        checked(run, ["dpkg-deb", "--extract", str(kernel_packages.directory / deb), name], f"{deb} was not unpacked")
        archive = Path(name) / f"usr/src/{top}.tar.xz"
        checked(
            run,
            ["tar", UNXZ, "-xf", str(archive), "-C", str(build), "--strip-components=1", "--no-same-owner", *wanted],
            f"{archive.name} was not unpacked",
        )
