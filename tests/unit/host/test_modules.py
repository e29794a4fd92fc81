# SPDX-License-Identifier: Apache-2.0
"""Modules that Debian leaves out are built for exactly one kernel, and what does not fit it stops the build."""

import io
import lzma
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from host import keys
from host.layout import REPO, Caches
from host.modules import compile as compiler
from host.modules import environment, image, package, preload, prepare, record, sets, signing, verify
from host.modules.environment import Packages
from millrace.inventory.patched import PatchedModules
from millrace.observe.health.checks import kernel
from millrace.system.errors import Failed

ABI, VERSION = "7.2.12+deb14-amd64", "7.2.12-1"
MAGIC = f"{ABI} SMP preempt mod_unload modversions "
DAEMON = "ksmbd-tools_3.5.7-1_amd64.deb"
FILES = (
    DAEMON,
    f"linux-headers-{ABI}_{VERSION}_amd64.deb",
    f"linux-headers-amd64_{VERSION}_amd64.deb",
    f"linux-headers-7.2.12+deb14-common_{VERSION}_all.deb",
    f"linux-modules-{ABI}_{VERSION}_amd64.deb",
    f"linux-source-7.2_{VERSION}_all.deb",
    f"linux-source_{VERSION}_all.deb",
)
MODULES = [module for one in sets.SETS for module in one.modules]


BUILD, DEBIAN = b"\x11" * 20, b"\x22" * 20


def module(magic: str = MAGIC, build: bytes = BUILD) -> bytes:
    note = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0" + build
    return b"\x7fELF\0" + note + b"license=GPL\0vermagic=" + magic.encode() + b"\0name=x\0"


def answer(argv: Sequence[str], status: int = 0, out: str = "", err: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(argv, status, out, err)


def found(directory: Path = Path("/packages")) -> Packages:
    return environment.packages(FILES, directory)


def test_packages_name_their_kernel() -> None:
    one = found()
    assert (one.abi, one.version, one.source) == (ABI, VERSION, "7.2")
    assert one.debian == Path("/packages") / FILES[4]
    assert one.daemon == (Path("/packages") / DAEMON, "3.5.7-1")


def test_headers_without_their_source_are_refused() -> None:
    newer = [*FILES[:5], "linux-source-7.2_7.2.13-1_all.deb"]
    with pytest.raises(Failed, match=r"kernel headers 7\.2\.12-1 and kernel source 7\.2\.13-1"):
        environment.packages(newer, Path())
    with pytest.raises(Failed, match="headers and source of one kernel"):
        environment.packages(FILES[2:], Path())
    with pytest.raises(Failed, match="linux-modules-7"):
        _ = environment.packages([*FILES[:4], *FILES[5:]], Path()).debian
    with pytest.raises(Failed, match="do not have ksmbd-tools"):
        _ = environment.packages(FILES[1:], Path()).daemon


def test_key_follows_the_content_of_packages(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text(name)
    before = found(tmp_path).key
    assert environment.packages(FILES[::-1], tmp_path).key == before
    (tmp_path / FILES[0]).write_text("rebuilt under the same version")
    assert found(tmp_path).key != before


class Apt:
    """apt-get of a source that has FILES."""

    def __init__(self, update: tuple[int, str] = (0, "")) -> None:
        self.update = update
        self.directory = Path()

    def __call__(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        match [word for word in argv if word != "-o" and "::" not in word]:
            case ["apt-get", "update", "--quiet", "--error-on=any"]:
                return answer(argv, self.update[0], err=self.update[1])
            case ["apt-get", "install", "--print-uris", "-qq", *names]:
                assert not any(word == f"Dir::Cache::archives={self.directory}" for word in argv)
                files = [file for file in FILES if file != FILES[4] or f"linux-modules-{ABI}" in names]
                return answer(argv, out="".join(f"'http://mirror.example/{f}' {f} 1 MD5Sum:0\n" for f in files))
            case ["apt-get", "install", "--download-only", "--yes", "-qq", *names]:
                assert f"Dir::Cache::archives={self.directory}" in argv
                assert {*environment.PACKAGES, f"linux-modules-{ABI}"} == set(names)
                for file in FILES:
                    (self.directory / file).touch()
                return answer(argv)
        raise AssertionError(argv)


def test_packages_of_an_earlier_kernel_are_removed(tmp_path: Path) -> None:
    apt = Apt()
    apt.directory = tmp_path
    (tmp_path / "linux-source-7.1_7.1.8-1_all.deb").touch()
    assert environment.fetch(tmp_path, "http://mirror.example/", apt) == found(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.deb")) == sorted(FILES)


def test_unreachable_sources_are_named(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"source cannot be fetched: Unable to connect\.$"):
        environment.fetch(tmp_path, "http://mirror.example/", Apt((100, "E: Unable to connect.\n")))
    with pytest.raises(Failed, match="set MILLRACE_APT_URI"):
        environment.fetch(tmp_path, None, Apt())


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
        compiler.compile_set(sets.NFS, tmp_path, found(), 2, lambda argv: answer(argv, 2, err=err))


def test_undefined_symbol_fails_where_make_only_warns(tmp_path: Path) -> None:
    (tmp_path / "build/fs").mkdir(parents=True)
    warning = 'WARNING: modpost: "svc_gone" [/build/fs/nfsd/nfsd.ko] undefined!\n'
    with pytest.raises(Failed, match="svc_gone"):
        compiler.compile_set(sets.NFS, tmp_path, found(), 2, lambda argv: answer(argv, 0, err=warning))


def command_of(argv: Sequence[str]) -> list[str]:
    """What runs in the environment."""
    return list(argv[argv.index("HOME=/") + 1 :])


def test_patches_are_applied_in_order_before_the_compiler_runs(tmp_path: Path) -> None:
    made: list[list[str]] = []

    def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        made.append(command_of(argv))
        return answer(argv)

    compiler.compile_set(sets.MD, tmp_path, found(), 2, run)
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
        compiler.compile_set(sets.MD, tmp_path, found(), 2, run)


HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@pytest.mark.parametrize("path", [*sets.SUNRPC.changes, *sets.MD.changes], ids=lambda path: path.name[:4])
def test_patch_has_the_form_that_the_kernel_takes(path: Path) -> None:
    """Documentation/process/submitting-patches.rst; who sends it adds From and Signed-off-by."""
    text = path.read_text()
    message, _, rest = text.partition("\n---\n")
    subject, blank, *body = message.splitlines()
    assert re.fullmatch(r"Subject: \[PATCH\] (md/raid5|sunrpc): .{1,60}", subject) and blank == ""
    assert all(len(line) <= 75 for line in body)
    assert not re.search(r"@[A-Z]+@|millrace", text, re.IGNORECASE)
    lines = iter(rest.splitlines())
    hunks = 0
    for line in lines:
        if not (match := HUNK.match(line)):
            continue
        hunks += 1
        before, after = (int(number or 1) for number in match.groups())
        while before or after:
            kind = next(lines)[:1]
            assert kind in {" ", "+", "-", ""}
            before, after = before - (kind != "+"), after - (kind != "-")
    assert hunks


def test_every_patch_is_of_a_set_and_described() -> None:
    files = {path.name for path in sets.PATCHES.glob("*.patch")}
    assert files == {name for one in sets.SETS for name in one.patches}
    described = (sets.PATCHES / "README.md").read_text()
    assert all(f"`{name[:4]}`" in described for name in files)


def environment_of(root: Path, made: Sequence[str]) -> None:
    (root / "usr/src" / f"linux-headers-{ABI}" / "scripts").mkdir(parents=True)
    (root / "usr/src/asn1_compiler").touch()
    for name in made:
        path = root / f"build/{name}.ko"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(module())


def test_only_modules_of_the_sets_are_kept(tmp_path: Path) -> None:
    environment_of(tmp_path / "root", [*MODULES, "fs/nfs_common/grace"])
    kept = compiler.build(tmp_path / "root", found(), tmp_path / "new", 2, answer)
    assert [str(path.relative_to(tmp_path / "new")) for path in kept] == [f"{name}.ko" for name in MODULES]
    assert not list((tmp_path / "new").rglob("grace.ko"))


def test_module_that_was_not_made_is_named(tmp_path: Path) -> None:
    environment_of(tmp_path, MODULES[:-1])
    with pytest.raises(Failed, match=r"makes no drivers/md/raid456\.ko"):
        compiler.build(tmp_path, found(), tmp_path / "new", 2, answer)


def rebuilt(target: Path, magic: str = MAGIC) -> list[Path]:
    paths = [target / f"{name}.ko" for name in MODULES]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(module(magic))
    return paths


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


class Tools:
    """The environment's xz, and the host's own dpkg-deb."""

    def __init__(self) -> None:
        self.argv: list[Sequence[str]] = []

    def __call__(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.argv.append(argv)
        if argv[0] == "env":
            return environment.run_quietly(argv)
        if argv[:2] == ["dpkg-deb", "--field"]:
            assert argv[2:] == [str(Path("/packages") / DAEMON), "Depends"]
            return answer(argv, out="libc6 (>= 2.38), libnl-3-200 (>= 3.11.0)\n")
        root, command = Path(argv[argv.index("-c") + 2]), argv[argv.index("HOME=/") + 1 :]
        if command[0] == "gcc":
            assert tuple(command[: len(preload.COMPILE)]) == preload.COMPILE
            (root / command[command.index("-o") + 1].lstrip("/")).write_bytes(b"library")
            return answer(argv)
        assert tuple(command[:4]) == package.XZ
        for name in command[4:]:
            path = root / name.lstrip("/")
            path.with_suffix(".ko.xz").write_bytes(lzma.compress(path.read_bytes(), check=lzma.CHECK_CRC32))
            path.unlink()
        return answer(argv)


EPOCH = 1577836800


def with_daemon(root: Path) -> Path:
    for name in (package.DAEMON, Path("usr/share/doc/ksmbd-tools/copyright")):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(name.name)
    return root


def packed(directory: Path) -> Path:
    built, root = directory / "new", with_daemon(directory / "root")
    return package.make(rebuilt(built), built, root, found(), "the record", EPOCH, Tools())


def test_package_depends_on_exactly_its_kernel(tmp_path: Path) -> None:
    deb = packed(tmp_path)
    assert deb == tmp_path / f"new/millrace-modules_{VERSION}+millrace1_amd64.deb"
    fields = subprocess.run(
        ["dpkg-deb", "--field", deb], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert f"Depends: linux-image-{ABI} (= {VERSION}), libc6 (>= 2.38), libnl-3-200 (>= 3.11.0)" in fields
    assert "Built-Using: ksmbd-tools (= 3.5.7-1)" in fields
    # Debian's security tracker knows the source package
    assert f"Source: linux ({VERSION})" in fields
    subprocess.run(["dpkg-deb", "--control", deb, tmp_path / "control"], check=True)
    assert f"depmod {ABI}" in (tmp_path / "control/postinst").read_text()


def test_package_has_the_modules_where_depmod_prefers_them(tmp_path: Path) -> None:
    deb = packed(tmp_path)
    subprocess.run(["dpkg-deb", "--extract", deb, tmp_path / "image"], check=True)
    place = tmp_path / "image/usr/lib/modules" / ABI
    files = [path for path in place.rglob("*") if path.is_file()]
    assert sorted(files) == sorted(place / package.installed(name) for name in MODULES)
    assert {lzma.decompress(path.read_bytes()) for path in files} == {module()}
    assert {(path.stat().st_mode & 0o777, path.stat().st_mtime) for path in files} == {(0o644, EPOCH)}
    assert (tmp_path / "image/usr/lib/millrace/modules.json").read_text() == "the record"


def test_package_has_the_library_that_the_unit_of_smbd_preloads(tmp_path: Path) -> None:
    deb = packed(tmp_path)
    subprocess.run(["dpkg-deb", "--extract", deb, tmp_path / "image"], check=True)
    image, drop_in = tmp_path / "image", "mkosi.extra/usr/lib/systemd/system/smbd.service.d/40-names.conf"
    assert f"EnvironmentFile=-/{preload.ENVIRONMENT}\n" in (REPO / drop_in).read_text()
    assert (image / preload.ENVIRONMENT).read_text() == f"LD_PRELOAD=/{preload.LIBRARY}\n"
    assert (image / preload.LIBRARY).read_bytes() == b"library"
    assert preload.SOURCE.relative_to(REPO) in prepare.SOURCES


def test_library_lists_a_directory_without_names_that_are_not_utf_8(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    library, program = tmp_path / "names.so", tmp_path / "list"
    subprocess.run([*preload.COMPILE, "-o", library, preload.SOURCE], check=True)
    source = "#include <dirent.h>\n#include <stdio.h>\nint main(int n, char **v) { DIR *d = opendir(v[n - 1]);"
    source += "for (struct dirent *e; d && (e = readdir(d));) puts(e->d_name); return 0; }"
    subprocess.run(["gcc", "-x", "c", "-o", program, "-"], input=source, text=True, check=True)
    good = [
        b"plain",
        "\u00e9t\u00e9".encode(),
        "\U0001f600".encode(),
        "\uf022".encode(),
        "\u20ac".encode(),
        b"a:b",
        b"\x7f",
    ]
    bad = [b"\xe9t\xe9", b"x\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]
    (tmp_path / "top").mkdir()
    for name in (*good, *bad):
        (tmp_path / "top" / os.fsdecode(name)).touch()
    listed = subprocess.run(
        [program, tmp_path / "top"], env={"LD_PRELOAD": str(library)}, capture_output=True, check=True
    )
    assert set(listed.stdout.split(b"\n")) - {b"", b".", b".."} == set(good)


def test_record_has_the_patches_of_a_module_by_its_build(tmp_path: Path) -> None:
    rebuilt(tmp_path)
    text = record.record(tmp_path, {"drivers/md/raid456": module(build=DEBIAN), "fs/nfsd/nfsd": module()})
    sunrpc, raid = PatchedModules.model_validate_json(text).modules
    assert (raid.name, raid.build_id, raid.debian) == ("raid456", BUILD.hex(), DEBIAN.hex())
    assert raid.patches == ["0001", "0002", "0003", "0004", "0005"] == [*kernel.RAID.without]
    assert (sunrpc.name, sunrpc.patches) == ("sunrpc", [*kernel.SUNRPC.without])
    assert PatchedModules.model_validate_json(record.record(tmp_path, {})).modules[0].debian is None
    (tmp_path / "drivers/md/raid456.ko").write_bytes(b"\x7fELF")
    with pytest.raises(Failed, match=r"drivers/md/raid456\.ko has no build ID"):
        record.record(tmp_path, {})


def test_package_has_the_daemon_of_ksmbd_by_its_names(tmp_path: Path) -> None:
    deb = packed(tmp_path)
    subprocess.run(["dpkg-deb", "--extract", deb, tmp_path / "image"], check=True)
    image = tmp_path / "image"
    assert (image / package.DAEMON).stat().st_mode & 0o777 == 0o755
    assert [path.resolve() for path in sorted((image / "usr/sbin").iterdir())] == [image / package.DAEMON] * 2
    assert (image / "usr/share/doc/millrace-modules/copyright").read_text() == "copyright"


def test_modules_are_signed_as_the_kernel_reads_it(tmp_path: Path) -> None:
    owner = keys.make(tmp_path / "owner", datetime(2026, 11, 25, tzinfo=UTC))
    deb = packed(tmp_path)
    made = signing.signed(deb, owner, tmp_path / "cache", EPOCH)
    assert made.name == deb.name and len(list(made.parent.iterdir())) == 1
    subprocess.run(["dpkg-deb", "--extract", made, tmp_path / "image"], check=True)
    place = tmp_path / "image/usr/lib/modules" / ABI
    for name in MODULES:
        whole = lzma.decompress((place / package.installed(name)).read_bytes())
        assert whole.endswith(b"~Module signature appended~\n")
        rest = whole.removesuffix(b"~Module signature appended~\n")
        # algorithm, hash and lengths of a signer are in the message; its own length is the last field
        assert rest[-12:-4] == b"\0\0\2\0\0\0\0\0"
        size = int.from_bytes(rest[-4:])
        message, content = rest[-12 - size : -12], rest[: -12 - size]
        assert content == module()
        # without attributes the signature is over the content, and is the last field of the message
        owner.key("db").public_key().verify(message[-256:], content, PKCS1v15(), SHA256())
    before = made.stat()
    assert signing.signed(deb, owner, tmp_path / "cache", EPOCH) == made and made.stat() == before
    content = made.read_bytes()
    made.unlink()
    assert signing.signed(deb, owner, tmp_path / "cache", EPOCH).read_bytes() == content
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [made.parent.name]


def test_same_modules_give_the_same_package(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        first = packed(tmp_path / "one")
    finally:
        os.umask(before)
    assert packed(tmp_path / "the-other").read_bytes() == first.read_bytes()


class Built:
    """How often the modules were compiled, by a build that leaves them where they belong."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        monkeypatch.setattr(environment, "fetch", lambda work, uri, run: found())
        monkeypatch.setattr(Packages, "key", property(lambda one: "a key"))
        monkeypatch.setattr(environment, "unpack", lambda one, root, run: with_daemon(root))
        monkeypatch.setattr(compiler, "build", self.build)
        monkeypatch.setattr(verify, "debian_modules", lambda deb: {"fs/nfsd/nfsd": module()})

    def build(self, root: Path, one: Packages, new: Path, jobs: int, run: environment.Run) -> list[Path]:
        self.times += 1
        return rebuilt(new)


def test_modules_are_compiled_once_for_the_same_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = Built(monkeypatch)
    cache, tools = Caches(tmp_path), Tools()
    first = prepare.prepare(cache, "http://mirror.example/", tools)
    assert [first] == list(first.parent.iterdir())
    assert (prepare.prepare(cache, "http://mirror.example/", tools), built.times) == (first, 1)
    monkeypatch.setattr(Packages, "key", property(lambda packages: "of newer packages"))
    assert prepare.prepare(cache, "http://mirror.example/", tools) != first
    assert built.times == 2
    assert not (tmp_path / "modules/environment").exists()
    first.unlink()
    monkeypatch.setattr(Packages, "key", property(lambda packages: "a key"))
    with pytest.raises(Failed, match="has 0 packages instead of 1; remove it"):
        prepare.prepare(cache, "http://mirror.example/", tools)


def test_builds_that_were_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Built(monkeypatch)
    cache, tools = Caches(tmp_path), Tools()

    def of(key: str) -> Path:
        monkeypatch.setattr(Packages, "key", property(lambda one: key))
        return prepare.prepare(cache, None, tools).parent

    first, second, *_ = (of(f"packages {number}") for number in range(prepare.KEPT))
    assert of("packages 0") == first
    last = of("packages of today")
    left = {directory for directory in (tmp_path / "modules").iterdir() if directory.is_dir()}
    assert len(left) == prepare.KEPT and {first, last} < left and second not in left


def status(*packages: tuple[str, str]) -> str:
    return "\n".join(f"Package: {name}\nVersion: {version}\n" for name, version in packages)


OWN = ("millrace-modules", f"{VERSION}+millrace1")
KERNEL = (f"linux-image-{ABI}", VERSION)


def test_image_has_one_kernel_and_the_modules_for_it(tmp_path: Path) -> None:
    file = tmp_path / "dpkg.status"
    file.write_text(status(KERNEL, ("linux-image-amd64", VERSION), OWN))
    assert image.kernel(file) == ABI
    file.write_text(status(KERNEL, ("linux-image-7.2.13+deb14-amd64", "7.2.13-1"), OWN))
    with pytest.raises(Failed, match=r"2 kernels \(7\.2\.12\+deb14-amd64, 7\.2\.13\+deb14-amd64\)"):
        image.kernel(file)
    file.write_text(status((KERNEL[0], "7.2.12-2"), OWN))
    with pytest.raises(Failed, match=r"kernel 7\.2\.12-2 and millrace-modules 7\.2\.12-1\+millrace1"):
        image.kernel(file)
    file.write_text(status(KERNEL))
    with pytest.raises(Failed, match="millrace-modules not at all"):
        image.kernel(file)


LISTED = [f"{package.installed(name)}: kernel/fs/netfs/netfs.ko.xz" for name in MODULES]


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        ([line.replace("updates/millrace", "kernel") for line in LISTED], "kernel/fs/nfs/blocklayout/blocklayoutdr"),
        (LISTED[1:], "load no blocklayoutdriver.ko"),
        ([*LISTED, "kernel/fs/x/x.ko.xz: kernel/fs/nfsd/nfsd.ko.xz"], "kernel/fs/nfsd/nfsd.ko.xz, updates"),
    ],
)
def test_image_that_would_load_modules_of_debian_is_refused(lines: list[str], chosen: str) -> None:
    image.verify([*LISTED, f"kernel/fs/nfs_common/nfs_acl.ko.xz: {package.installed('net/sunrpc/sunrpc')}"])
    with pytest.raises(Failed, match=chosen):
        image.verify(lines)
