# SPDX-License-Identifier: Apache-2.0
"""`tools/build`: the appliance image (and the tests' client image) from this tree."""

import argparse
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from host import (
    apt,
    artefacts,
    check,
    cves,
    keys,
    lock,
    manual,
    mkosi,
    notes,
    pages,
    reference,
    release,
    report,
    sbom,
    secure_boot,
    sources,
    stage,
    version,
)
from host.entry import finish
from host.layout import CLIENT_OUTPUT, OUTPUT, REPO, Caches, caches
from host.modules import image, package, signing
from host.modules.prepare import prepare
from host.progress import clock
from millrace.system.errors import BadInput, Failed

BUILDING = ".building"
LOG = "build.log"
NEWS = "NEWS.md"
SLOTS = REPO / "mkosi.extra/usr/lib/repart.d"
# Tools tree, incremental images and workspace beside the image itself.
SPACE = 8 << 30


@dataclass(frozen=True)
class Target:
    """One image: what it is made of and where it goes."""

    title: str
    root: Path
    inputs: list[Path]
    output: Path
    artefacts: list[str]
    stage: Path
    # The web pages are bundled from the tree, the manual page is made from its program.
    with_program: bool
    image_cache: Path
    # The client's build takes the tools tree and the initrd of the appliance's instead of making its own.
    tools_tree: Path | None
    initrd: Path | None
    # repart.d of installed machines, whose slots the partitions must fit; None for an image that is not installed.
    slots: Path | None
    # The package of rebuilt kernel modules, alone in its directory; None for an image with Debian's.
    modules: Path | None = None


def appliance(cache: Caches, output: Path = OUTPUT, modules: Path | None = None) -> Target:
    """Return the appliance image; with the package `modules` it has rebuilt kernel modules."""
    name = artefacts.image_name(REPO)
    return Target(
        title=name,
        root=REPO,
        inputs=stage.image_inputs(REPO),
        output=output,
        artefacts=[name + suffix for suffix in artefacts.APPLIANCE],
        stage=cache.stages / "image",
        with_program=True,
        image_cache=cache.images,
        tools_tree=None,
        initrd=None,
        slots=SLOTS,
        modules=modules,
    )


def client(cache: Caches, output: Path = CLIENT_OUTPUT) -> Target:
    """Return the image of the VM that the tests use as a client. BadInput: its definition is missing."""
    root = REPO / "tests" / "client"
    if not (root / "mkosi.conf").is_file():
        raise BadInput(f"There is no client image to build: {root / 'mkosi.conf'} is missing.")
    return Target(
        title="test client",
        root=root,
        inputs=stage.client_inputs(root),
        output=output,
        artefacts=["client.raw", "client.vmlinuz", "client.initrd"],
        stage=cache.stages / "client",
        with_program=False,
        image_cache=cache.root / "cache-client",
        tools_tree=cache.stages / "image" / "mkosi.tools",
        # mkosi's default; the modules of the client's own kernel are added to it
        initrd=OUTPUT / "initrd.cpio.zst",
        slots=None,
    )


def options(target: Target, cache: Caches, output: Path) -> list[str]:
    """Return mkosi's options for `target`; a directory it names is made."""
    for directory in (target.image_cache, cache.packages, output):
        directory.mkdir(parents=True, exist_ok=True)
    chosen = [
        f"--cache-directory={target.image_cache}",
        f"--package-cache-directory={cache.packages}",
        f"--output-directory={output}",
    ]
    if target.tools_tree is not None and target.tools_tree.is_dir():
        chosen.append(f"--tools-tree={target.tools_tree}")
    if target.initrd is not None and target.initrd.is_file():
        chosen.append(f"--initrd={target.initrd}")
    return chosen + module_options(target.modules)


def module_options(modules: Path | None) -> list[str]:
    """Return mkosi's options that install the package `modules`.

    As a volatile package it is no part of the incremental image, which images with Debian's modules are made from, too.
    """
    if modules is None:
        return []
    return [f"--volatile-package={package.NAME}", f"--volatile-package-directory={modules.parent}"]


def up_to_date(target: Target) -> tuple[bool, str]:
    """Return whether `target` was built from what its inputs are now, and their key."""
    inputs = [*target.inputs, reference.SOURCE, Path(NEWS)] if target.with_program else target.inputs
    own = [] if target.modules is None else [artefacts.sha256(target.modules)]
    key = stage.key(target.root, inputs, mkosi.VERSION, *release_files(target).values(), *own)
    return artefacts.up_to_date(target.output, key, target.artefacts), key


def release_files(target: Target) -> dict[Path, str]:
    """Return the file that gives a release its version; the client's image, which is installed nowhere, has none."""
    if target.slots is None or version.RELEASE not in os.environ:
        return {}
    return {Path("mkosi.version"): f"{version.current(target.root)}\n"}


def build(target: Target, cache: Caches, again: bool = False) -> bool:
    """Build `target` where its inputs changed, or `again` where not; return whether anything was built."""
    if up_to_date(target)[0] and not again:
        return False
    artefacts.need_space(target.output, SPACE)
    uri = apt.archive_uri()
    tool = mkosi.fetch(cache, uri)
    with lock.building(cache):
        # The build that was waited for may have been of this very tree.
        done, key = up_to_date(target)
        if done and not again:
            return False
        # Only the appliance's image leaves a list of its packages; the client's is installed nowhere.
        fresh = again or (target.slots is not None and _outdated(cache.images / sources.STATUS, uri))
        seconds = _build(target, cache, tool, apt.files(uri, security_uri(uri)), key, fresh)
    print(f"Built {target.title} in {clock(seconds)}.")
    return True


def build_cold(
    cold: Caches, modules: Path | None, uri: str | None = None, files: Mapping[Path, str] | None = None
) -> str:
    """Build the appliance image with caches that are empty; return the key of its tree.

    `modules` as in `appliance`. `uri` and `files` are the package source and what configures apt for it; without,
    those of this host.
    """
    uri = uri or apt.archive_uri()
    target = appliance(cold, modules=modules)
    artefacts.need_space(cold.root, SPACE)
    tool = mkosi.fetch(cold, uri)
    with lock.building(caches()):
        key = up_to_date(target)[1]
        given = apt.files(uri, security_uri(uri)) if files is None else files
        seconds = _build(target, cold, tool, given, key, fresh=False)
    print(f"Built {target.title} with empty caches in {clock(seconds)}.")
    return key


def security_uri(uri: str | None) -> str | None:
    """Return apt.security_uri(); print where a build is without the security suite."""
    found = apt.security_uri(uri)
    if found is None:
        print(f"Without {apt.SECURITY}: this host reaches no archive that has it.")
    return found


def _build(target: Target, cache: Caches, tool: mkosi.Mkosi, files: Mapping[Path, str], key: str, fresh: bool) -> float:
    """`files` configure apt; `fresh`: packages are installed again, not taken from an incremental image."""
    new = target.output / BUILDING
    shutil.rmtree(new, ignore_errors=True)
    try:
        stage.stage(target.root, target.inputs, target.stage, {**files, **release_files(target)})
        if target.with_program:
            pages.install(cache, target.stage)
            manual.install(cache, target.stage)
            reference.install(target.stage)
        # mkosi(1): given twice, --force removes the incremental images too
        chosen = [*options(target, cache, new), *(["--force"] if fresh else [])]
        seconds = mkosi.run(tool, target.stage, chosen, target.output / LOG)
        if target.slots is not None:
            report.check_slots(new, target.title, target.slots)
            if target.modules is not None:
                verify_modules(new, target.title, target.stage / "mkosi.tools")
            number = version.current(target.root)
            epoch = stage.epoch(target.root)
            sbom.write(new / sources.STATUS, target.title, number, epoch)
            root_hash = (new / f"{target.title}.roothash").read_text().strip()
            notes.write(new / sources.STATUS, target.title, number, epoch, root_hash, target.root / NEWS)
            shutil.copyfile(new / sources.STATUS, cache.images / sources.STATUS)
        artefacts.write_sums(new)
        (new / artefacts.KEY).write_text(key + "\n")
        artefacts.publish(new, target.output, keep=(BUILDING, LOG, CLIENT_OUTPUT.name))
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return seconds


def verify_modules(output: Path, name: str, tools: Path) -> None:
    """Verify that the image `name` in `output` loads the rebuilt modules. Failed: as `image.kernel`, `image.verify`."""
    release = image.kernel(output / sources.STATUS)
    partition = output / f"{name}.usr-x86-64.raw"
    image.verify(image.dependencies(partition, release, tools).splitlines())


def _outdated(status: Path, uri: str | None) -> bool:
    """Whether the sources have newer packages than the database `status`; prints that, or why it is not known."""
    if not status.is_file():
        return False
    try:
        packages = sources.newer(status, uri)
    except Failed as error:
        print(f"The package sources were not read: {error}. Packages are as of {artefacts.day(status)}.")
        return False
    print(f"{sources.in_words(packages)}." if packages else "The package sources have no newer packages.")
    return bool(packages)


def rebuilt_modules(cache: Caches, stock: bool, owner: keys.Keys | None = None) -> Path | None:
    """Return the package of rebuilt modules, signed where there is an owner; None with `stock`, for Debian's.

    Failed: as `prepare` and `signing.signed`.
    """
    if stock:
        return None
    deb = prepare(cache, apt.archive_uri())
    return deb if owner is None else signing.signed(deb, owner, cache.root / "modules", stage.epoch(REPO))


def build_appliance(look: bool = False, stock: bool = False, owner: keys.Keys | None = None) -> None:
    """Bring the appliance image up to date with the tree; with `look` also with the package sources.

    With `stock` it has Debian's kernel modules, otherwise the rebuilt ones, with the signatures of `owner`.
    """
    cache = caches()
    target = appliance(cache, modules=rebuilt_modules(cache, stock, owner))
    status = target.output / sources.STATUS
    current = up_to_date(target)[0]
    again = look and current and _outdated(status, apt.archive_uri())
    if build(target, cache, again):
        report.print_report(target.output, target.title, SLOTS)
    elif look:
        print(f"{target.title} is up to date.")
    else:
        print(f"{target.title} is up to date with this tree; the package sources were not read.")
        print(f"Its packages are as of {artefacts.day(status)}; tools/build looks for newer ones.")


def build_client() -> None:
    """Bring the client image up to date; needs the appliance's tools tree."""
    cache = caches()
    if not (cache.stages / "image" / "mkosi.tools").is_dir():
        build_appliance()
    if not build(client(cache), cache):
        print("The test client is up to date.")


def sign(owner: keys.Keys, cache: Caches) -> None:
    """Sign the appliance image that was built with these caches; Failed as `secure_boot.sign`."""
    name = artefacts.image_name(REPO)
    tools = cache.stages / "image" / "mkosi.tools"
    with lock.building(caches()):
        signed = secure_boot.sign(OUTPUT, name, owner, tools, stage.epoch(REPO))
    print(f"Signed {name} for Secure Boot in {signed.relative_to(REPO)}/.")


def make_release(owner: keys.Keys, directory: Path, cache: Caches) -> None:
    """Write what servers update from, of the image that was built with these caches.

    BadInput and Failed as `release.write`.
    """
    number = version.current(REPO)
    tools = cache.stages / "image" / "mkosi.tools"
    with lock.building(caches()):
        archive = release.write(OUTPUT, owner, tools, number, REPO / NEWS, directory, stage.epoch(REPO))
    print(f"{directory} is the release {number} for your web server; {archive.name} in it has all of it in one file.")


def print_cves() -> None:
    """Print what is known of the image that was built; Failed where there is none or nothing is known."""
    status = OUTPUT / sources.STATUS
    if not status.is_file():
        raise Failed("There is no image yet whose packages could be looked up: run tools/build first.")
    found = cves.report(status)
    print(found or "Debian's security tracker knows no open vulnerability of the packages in this image.")


def main(arguments: list[str]) -> int:
    """Build what the command line asks for."""
    parser = argparse.ArgumentParser(prog="tools/build", description="Build the Millrace image into mkosi.output/.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--client", action="store_true", help="build the image of the tests' client VM")
    what.add_argument("--check", action="store_true", help="build twice, differently, and compare bit for bit")
    what.add_argument("--cves", action="store_true", help="list the known vulnerabilities of the packages in the image")
    what.add_argument(
        "--lock", type=Path, metavar="DIR", help="build with empty caches, and keep all packages that it takes"
    )
    what.add_argument("--locked", type=Path, metavar="DIR", help="build from these packages, without a network")
    parser.add_argument(
        "--stock-modules",
        action="store_true",
        help="keep Debian's modules of NFS, SMB and parity RAID instead of rebuilt ones",
    )
    parser.add_argument("--sign", type=Path, metavar="KEYDIR", help="sign for Secure Boot, with keys of tools/keys")
    parser.add_argument(
        "--release", type=Path, nargs=2, metavar=("KEYDIR", "DIR"), help="write what servers update from to DIR"
    )
    parser.add_argument("--tag", metavar="TAG", help="build the release of this tag of git, without its signatures")
    chosen = parser.parse_args(arguments)
    if chosen.tag is not None and (chosen.client or chosen.cves):
        parser.error("--tag is for the image; leave --client and --cves out.")
    if chosen.sign is not None and (chosen.client or chosen.cves or chosen.lock):
        parser.error("--sign is for the image; leave --client, --cves and --lock out.")
    if chosen.release is not None and (chosen.client or chosen.cves or chosen.lock or chosen.check):
        parser.error("--release is for the image; leave --client, --cves, --lock and --check out.")
    if chosen.stock_modules and (chosen.client or chosen.cves):
        parser.error("--stock-modules is for the image; leave --client and --cves out.")
    if chosen.stock_modules and chosen.locked:
        parser.error("The lock decides which modules the image has; leave --stock-modules out.")
    # Before the build: it takes minutes.
    releaser = None if chosen.release is None else keys.load(chosen.release[0])
    owner = None if chosen.sign is None else keys.load(chosen.sign)
    if chosen.tag is not None:
        os.environ[version.RELEASE] = version.tagged(REPO, chosen.tag)
    elif releaser is not None:
        os.environ[version.RELEASE] = version.dated(REPO)
    # They build with this module.
    from host.locked import collect, rebuild

    if chosen.check:
        check.check(owner, chosen.stock_modules)
    elif chosen.lock is not None:
        locked = collect.collect(chosen.lock.absolute(), chosen.stock_modules)
        print(
            f"{chosen.lock} has the {len(locked.files)} packages of {locked.image_name}; tools/build --locked uses it."
        )
    elif chosen.locked is not None:
        if (ended := rebuild.without_network(arguments)) is not None:
            return ended
        with rebuild.rebuilt(chosen.locked.absolute(), owner) as cache:
            if owner is not None:
                sign(owner, cache)
            if releaser is not None:
                make_release(releaser, chosen.release[1].absolute(), cache)
    elif chosen.client:
        build_client()
    elif chosen.cves:
        print_cves()
    else:
        build_appliance(look=True, stock=chosen.stock_modules, owner=owner)
        if owner is not None:
            sign(owner, caches())
        if releaser is not None:
            make_release(releaser, chosen.release[1].absolute(), caches())
    return 0


if __name__ == "__main__":
    finish(main)
