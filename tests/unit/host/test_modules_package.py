# SPDX-License-Identifier: Apache-2.0
"""The package of rebuilt modules: what it depends on, where its files are, and how they are signed."""

import lzma
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from host import keys
from host.layout import REPO
from host.modules import package, preload, prepare, signing
from millrace.serve.share import smb_parameters
from tests.unit.host.modules_of import ABI, EPOCH, MODULES, VERSION, module, packed


def test_package_depends_on_exactly_its_kernel(tmp_path: Path) -> None:
    deb = packed(tmp_path)
    assert deb == tmp_path / f"new/millrace-modules_{VERSION}+millrace1_amd64.deb"
    fields = subprocess.run(
        ["dpkg-deb", "--field", deb], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert (
        f"Depends: linux-image-{ABI} (= {VERSION}), {preload.SAMBA}, libc6 (>= 2.38), libnl-3-200 (>= 3.11.0)" in fields
    )
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


def test_package_has_the_module_of_samba_that_shares_name(tmp_path: Path) -> None:
    deb = packed(tmp_path)
    subprocess.run(["dpkg-deb", "--extract", deb, tmp_path / "image"], check=True)
    assert Path(smb_parameters.DENIALS) == preload.VFS_MODULE
    assert (tmp_path / "image" / preload.VFS_MODULE).read_bytes() == b"library"
    assert preload.VFS_SOURCE.relative_to(REPO) in prepare.SOURCES
    assert f'"{preload.VFS_MODULE.stem}"' in preload.VFS_SOURCE.read_text()


def test_package_has_the_module_of_pam_and_the_profile_that_names_it(tmp_path: Path) -> None:
    deb = packed(tmp_path)
    subprocess.run(["dpkg-deb", "--extract", deb, tmp_path / "image"], check=True)
    assert (tmp_path / "image" / preload.PAM_MODULE).read_bytes() == b"library"
    profile = (tmp_path / "image" / preload.PROFILE).read_text()
    assert profile.count(f"\toptional\t{preload.PAM_MODULE.name}\n") == 2 and "Default: yes\n" in profile
    # before pam_unix (256) in the stack of passwords, which asks for the present one where no module has it
    assert "Password-Type: Primary\n" in profile and "Priority: 512\n" in profile
    assert {source.relative_to(REPO) for source in (preload.PAM_SOURCE, preload.PAM_PROFILE)} <= {*prepare.SOURCES}


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
