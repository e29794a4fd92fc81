# SPDX-License-Identifier: Apache-2.0
"""Modules that Debian leaves out are compiled for exactly one kernel, and what does not fit it stops the build."""

import io
import lzma
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from host.modules import compile as compiler
from host.modules import sets, verify
from millrace.system.errors import Failed
from tests.unit.host.modules_of import (
    ABI,
    MODULES,
    answer,
    module,
    packages_of,
    rebuilt,
)


def test_compiler_has_no_network_and_no_environment_of_the_host() -> None:
    argv = compiler.inside(Path("/root"), ["make"])
    assert argv[:4] == ["unshare", "--map-root-user", "--mount", "--net"]
    assert "env -i" in argv[argv.index("-c") + 1]
    assert argv[-1] == "make"


def test_macros_follow_the_configuration() -> None:
    assert sets.SMB.macros == [
        "-DCONFIG_SMBDIRECT_MODULE=1",
        "-DCONFIG_SMB_SERVER_SMBDIRECT=1",
        "-DCONFIG_CIFS_SMB_DIRECT=1",
    ]
    argv = compiler.make(sets.NFS, ABI, 2)
    assert "CONFIG_NFSD_V4_2_INTER_SSC=y" in argv
    assert any(word.startswith("KCFLAGS=") and "-DCONFIG_NFSD_V4_2_INTER_SSC=1" in word for word in argv)


@pytest.mark.parametrize(
    ("err", "reason"),
    [
        ('ERROR: modpost: "svc_gone" [/build/fs/nfsd/nfsd.ko] undefined!\n', "nfsd.ko: this kernel .* svc_gone"),
        ("fs/nfsd/vfs.c:7:3: error: unknown type name 'x'\nmake: *** [vfs.o] Error 1\n", "vfs.c:7:3: error: unknown"),
        ("error: objtool: fopen failed\nmake: *** Error 2\n", "error: objtool: fopen failed"),
        ("make: No rule\n", "make: No rule"),
        ("", "no reason was given"),
    ],
)
def test_kernel_that_modules_do_not_build_for_fails_by_name(tmp_path: Path, err: str, reason: str) -> None:
    (tmp_path / "build/fs").mkdir(parents=True)
    with pytest.raises(Failed, match=rf"nfs do not build for kernel 7\.2\.12-1: .*{reason}"):
        compiler.compile_set(sets.NFS, tmp_path, packages_of(), 2, lambda argv: answer(argv, 2, err=err))


def test_undefined_symbol_fails_where_make_only_warns(tmp_path: Path) -> None:
    (tmp_path / "build/fs").mkdir(parents=True)
    warning = 'WARNING: modpost: "svc_gone" [/build/fs/nfsd/nfsd.ko] undefined!\n'
    with pytest.raises(Failed, match="svc_gone"):
        compiler.compile_set(sets.NFS, tmp_path, packages_of(), 2, lambda argv: answer(argv, 0, err=warning))


def command_of(argv: Sequence[str]) -> list[str]:
    """What runs in the environment."""
    return list(argv[argv.index("HOME=/") + 1 :])


def test_patches_are_applied_in_order_before_the_compiler_runs(tmp_path: Path) -> None:
    made: list[list[str]] = []

    def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        made.append(command_of(argv))
        return answer(argv)

    compiler.compile_set(sets.MD, tmp_path, packages_of(), 2, run)
    *patches, make = made
    assert [patch[-1] for patch in patches] == [f"--input=/{name}" for name in sorted(sets.MD.patches)]
    assert all({"patch", "--fuzz=0", "--directory=/build"} <= set(patch) for patch in patches)
    assert [(tmp_path / path.name).read_bytes() for path in sets.MD.changes] == [
        path.read_bytes() for path in sets.MD.changes
    ]
    assert "M=/build/drivers/md" in make and make[-1] == "raid456.ko"
    # the kernel's own, which knows what raid456 is made of
    assert not (tmp_path / "build/drivers/md/Kbuild").exists()


def test_source_that_is_not_as_expected_is_not_compiled(tmp_path: Path) -> None:
    def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        refused = command_of(argv)[-1].startswith("--input=/0002")
        assert command_of(argv)[0] == "patch"
        return answer(argv, 1, out="1 out of 1 hunk FAILED") if refused else answer(argv)

    with pytest.raises(Failed, match=r"7\.2\.12-1 is not as 0002-md-raid5-\S+\.patch expects .*--stock-modules"):
        compiler.compile_set(sets.MD, tmp_path, packages_of(), 2, run)


def environment_of(root: Path, made: Sequence[str]) -> None:
    (root / "usr/src" / f"linux-headers-{ABI}" / "scripts").mkdir(parents=True)
    (root / "usr/src/asn1_compiler").touch()
    for name in made:
        path = root / f"build/{name}.ko"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(module())


def test_only_modules_of_the_sets_are_kept(tmp_path: Path) -> None:
    environment_of(tmp_path / "root", [*MODULES, "fs/nfs_common/grace"])
    kept = compiler.build(tmp_path / "root", packages_of(), tmp_path / "new", 2, answer)
    assert [str(path.relative_to(tmp_path / "new")) for path in kept] == [f"{name}.ko" for name in MODULES]
    assert not list((tmp_path / "new").rglob("grace.ko"))


def test_module_that_was_not_made_is_named(tmp_path: Path) -> None:
    environment_of(tmp_path, MODULES[:-1])
    with pytest.raises(Failed, match=r"makes no drivers/md/raid456\.ko"):
        compiler.build(tmp_path, packages_of(), tmp_path / "new", 2, answer)


def test_modules_for_another_kernel_are_refused(tmp_path: Path) -> None:
    debian = {"fs/nfsd/nfsd": module(), "fs/smb/common/cifs_md4": module()}
    verify.verify(rebuilt(tmp_path), tmp_path, debian)
    with pytest.raises(Failed, match=r"blocklayoutdriver\.ko is for the kernel '7\.2\.13 SMP'"):
        verify.verify(rebuilt(tmp_path, "7.2.13 SMP"), tmp_path, debian)


def test_neighbour_that_is_not_rebuilt_is_refused(tmp_path: Path) -> None:
    debian = {"fs/nfsd/nfsd": module(), "fs/nfs/nfsv5": module()}
    with pytest.raises(Failed, match="fs/nfs/nfsv5 of Debian's kernel is not rebuilt"):
        verify.verify(rebuilt(tmp_path), tmp_path, debian)


def test_modules_of_debian_are_read_from_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name in ("fs/nfsd/nfsd", "fs/nfs_common/grace", "fs/xfs/xfs", "drivers/md/raid456", "drivers/md/raid1"):
            entry = tarfile.TarInfo(f"./usr/lib/modules/{ABI}/kernel/{name}.ko.xz")
            content = lzma.compress(module())
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    (tmp_path / "tar").write_bytes(data.getvalue())
    program = tmp_path / "dpkg-deb"
    program.write_text(f"#!/bin/sh\nexec cat {tmp_path}/tar\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert verify.debian_modules(tmp_path / "x.deb") == {"fs/nfsd/nfsd": module(), "drivers/md/raid456": module()}
    (tmp_path / "tar").write_bytes(b"")
    with pytest.raises(Failed, match=r"x\.deb"):
        verify.debian_modules(tmp_path / "x.deb")
