# SPDX-License-Identifier: Apache-2.0
"""`tools/build --locked DIR`: builds from the files of a lock, without a network."""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from host import artefacts, build, keys, stage
from host.layout import OUTPUT, REPO, Caches, caches
from host.locked import collect, shelf, trees
from host.locked.model import Lock, read
from host.locked.trees import Installed, Tree
from host.modules import package, signing
from millrace.system.errors import Failed

INSIDE = "MILLRACE_WITHOUT_NETWORK"
NAMED = 5
# linux/sockios.h, linux/if.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def without_network(arguments: Sequence[str]) -> int | None:
    """Run tools/build with the same arguments in a network namespace of its own; None: this is that run."""
    if INSIDE in os.environ:
        _loopback_up()
        return None
    argv = ["unshare", "--net", sys.executable, "-m", "host.build", *arguments]
    return subprocess.run(argv, env=os.environ | {INSIDE: "1"}, check=False).returncode


@contextmanager
def rebuilt(directory: Path, owner: keys.Keys | None = None) -> Iterator[Caches]:
    """Build the image from a lock; yields the caches, which are removed at the end.

    Rebuilt kernel modules get the signatures of `owner`.

    BadInput: the lock or a file of it is damaged; nothing was changed. Failed: other packages were installed than the
    lock has, or the same tree gave another image.
    """
    lock = read(directory)
    cold = Caches(caches().root / "locked")
    shutil.rmtree(cold.root, ignore_errors=True)
    try:
        modules = modules_of(directory, lock, cold, owner)
        with shelf.served(shelf.Shelf(directory, lock)) as uri:
            os.environ["NPM_CONFIG_REGISTRY"] = f"{uri}/"
            key = build.build_cold(cold, modules, uri, shelf.sources(uri))
        different = differences(lock, trees.built(OUTPUT, cold))
        if different:
            raise Failed(f"The image has other packages than the lock: {different}.")
        if modules is not None and owner is not None:
            print(f"Built with the packages of {lock.image_name} of {lock.day}, and its modules signed.")
        else:
            print(compared(lock, key, artefacts.image_name(REPO), collect.made(OUTPUT)))
        yield cold
    finally:
        shutil.rmtree(cold.root, ignore_errors=True)


def modules_of(directory: Path, lock: Lock, cold: Caches, owner: keys.Keys | None) -> Path | None:
    """Return the lock's package of rebuilt kernel modules, alone in a directory; None where it has Debian's."""
    files = [one.file for one in lock.debs if one.name == package.NAME]
    if not files:
        return None
    place = cold.root / "modules"
    place.mkdir(parents=True)
    deb = place / Path(files[0]).name
    shutil.copyfile(directory / files[0], deb)
    return deb if owner is None else signing.signed(deb, owner, cold.root, stage.epoch(REPO))


def differences(lock: Lock, built: Mapping[Tree, set[Installed]]) -> str:
    """Return which packages are only in the lock or only in what was built, "" for none."""
    found = []
    for tree, packages in built.items():
        locked = {Installed(one.name, one.version, one.architecture) for one in lock.debs if tree in one.used_in}
        found += [f"{one.name} {one.version} is missing in the {tree}" for one in sorted(locked - packages)]
        found += [f"{one.name} {one.version} is not in the lock of the {tree}" for one in sorted(packages - locked)]
    return ", ".join(found[:NAMED]) + (", …" if len(found) > NAMED else "")


def compared(lock: Lock, key: str, name: str, made: Mapping[str, str]) -> str:
    """Return a sentence on what was built. Failed: the same tree gave another image than the lock has."""
    if (lock.image_name, lock.tree) != (name, key):
        return f"Built with the packages of {lock.image_name} of {lock.day}, from another tree than that one."
    if made["root_hash"] != lock.root_hash:
        raise Failed(f"The root hash of /usr is {made['root_hash']} instead of {lock.root_hash}.")
    if made["image"] != lock.image:
        raise Failed("The image differs from that of the lock, although /usr is the same.")
    return f"This is {lock.image_name} of {lock.day} again, bit for bit."


def _loopback_up() -> None:
    """Switch the loopback interface of a new network namespace on (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        (flags,) = struct.unpack_from("H", fcntl.ioctl(handle, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))
