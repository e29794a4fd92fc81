# SPDX-License-Identifier: Apache-2.0
"""`tools/keys`: the owner's keys of Secure Boot, of root and of updates, in one directory that stays with the owner."""

import argparse
import itertools
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from host import efivars, lock, pgp
from host.entry import finish
from host.layout import REPO
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import sync, write_bytes

# Firmware of every age takes it; many do not take more.
BITS = 2048
# Firmware does not read the dates, other tools do. Later ones have another form in X.509 (RFC 5280, 4.1.2.5).
UNTIL = datetime(2049, 12, 31, tzinfo=UTC)
OWNER = "owner.guid"
UPDATE, UPDATE_PUBLIC = "update.pgp", "update-public.pgp"
AUTO = ("PK.auth", "KEK.auth", "db.auth")
TITLES = {"PK": "platform key", "KEK": "key exchange key", "db": "image key"}
# The key that signs the write of each variable.
SIGNERS = {"PK": "PK", "KEK": "PK", "db": "KEK"}
# The key that signs what a TPM measures of a kernel image: it opens the root file system (host.root_policy).
PCR, PCR_PUBLIC = "pcr.key", "pcr.pub"
# What a rotation replaces, and where it keeps both sides of it.
ROTATED = (PCR, PCR_PUBLIC, "db.key", "db.crt", UPDATE)
NEXT, SWITCHING, OLD = "next", "switching", "old"
LOCK = ".lock"


@dataclass(frozen=True)
class Keys:
    """A directory of keys that is complete."""

    directory: Path

    def key(self, name: str) -> rsa.RSAPrivateKey:
        """Return the secret key of PK, KEK, db or pcr. Failed: it cannot be read."""
        path = self.directory / f"{name}.key"
        try:
            found = serialization.load_pem_private_key(path.read_bytes(), None)
        except (OSError, ValueError, TypeError) as error:
            raise Failed(f"{path} cannot be read as a secret key: {error}.") from error
        if not isinstance(found, rsa.RSAPrivateKey):
            raise Failed(f"{path} is no RSA key.")
        return found

    def certificate(self, name: str) -> x509.Certificate:
        """Return the certificate of PK, KEK or db. Failed: it cannot be read."""
        return _certificate(self.directory / f"{name}.crt")

    def accepted(self) -> list[x509.Certificate]:
        """Return the certificates whose images boot: that in use, the next one, and those of before."""
        older = sorted(self.directory.glob(f"{OLD}/*/db.crt"), key=lambda path: -int(path.parent.name))
        next_one = [path for path in (self.directory / NEXT / "db.crt",) if path.exists()]
        return [self.certificate("db"), *map(_certificate, [*next_one, *older])]

    def root_keys(self) -> list[Path]:
        """Return the files of the keys that open root: that in use, the next one, and those of before.

        A kernel image is signed with all of them: it opens a root that is bound to any.
        """
        older = sorted(self.directory.glob(f"{OLD}/*/{PCR}"), key=lambda path: -int(path.parent.name))
        return [path for path in (self.directory / PCR, self.directory / NEXT / PCR, *older) if path.exists()]


def _certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise Failed(f"{path} cannot be read as a certificate: {error}.") from error


def _write(path: Path, content: bytes) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    write_bytes(path, content, 0o600)


def _make_pair(directory: Path, name: str, now: datetime) -> None:
    key = rsa.generate_private_key(65537, BITS)
    title = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Millrace {TITLES[name]} {now:%Y-%m-%d}")])
    certificate = (
        x509.CertificateBuilder(title, title, key.public_key(), x509.random_serial_number())
        # a host whose clock is late reads the certificate, too
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(UNTIL)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    _write(directory / f"{name}.key", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    _write(directory / f"{name}.crt", certificate.public_bytes(Encoding.PEM))


def _make_root_key(directory: Path) -> None:
    """Make the key that signs what a TPM 2.0 measures of a kernel image (PCR 11)."""
    key = rsa.generate_private_key(65537, BITS)
    _write(directory / PCR_PUBLIC, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    _write(directory / PCR, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write_variables(keys: Keys, names: Iterable[str], now: datetime) -> None:
    """Write `<name>.auth` for systemd-boot, and the certificates in the form that firmware menus take."""
    owner = UUID((keys.directory / OWNER).read_text().strip())
    for name in names:
        chosen = keys.accepted() if name == "db" else [keys.certificate(name)]
        signer = SIGNERS[name]
        content = efivars.signature_list(owner, chosen)
        auth = efivars.signed_write(name, content, now, keys.key(signer), keys.certificate(signer))
        _write(keys.directory / f"{name}.auth", auth)
        _write(keys.directory / f"{name}.cer", keys.certificate(name).public_bytes(Encoding.DER))


def _place(directory: Path) -> Path:
    """Return where the directory really is. BadInput: in the clone, where the next commit may take it along."""
    found = directory.resolve()
    if found.is_relative_to(REPO):
        raise BadInput(f"{directory} is inside the clone; keep the keys elsewhere, such as on an encrypted stick.")
    return found


def make(directory: Path, now: datetime) -> Keys:
    """Make all keys in `directory`; a break leaves nothing. A directory of before gets the key of root that it lacks.

    BadInput: it is in the clone, or exists and has files.
    """
    place = _place(directory)
    if (place / "PK.key").is_file() and not (place / PCR).exists():
        _make_root_key(place)
        return load(directory)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BadInput(f"{directory} is there already and nothing in it is overwritten; name a new directory.")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        raise BadInput(f"{directory} cannot be made: {error.strerror}.") from error
    try:
        for name in TITLES:
            _make_pair(new, name, now)
        _make_root_key(new)
        _write(new / OWNER, f"{uuid4()}\n".encode())
        _write_variables(Keys(new), TITLES, now)
        secret, public = pgp.make()
        _write(new / UPDATE, secret)
        _write(new / UPDATE_PUBLIC, public)
        new.rename(place)
        sync(place.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Keys(place)


def load(directory: Path) -> Keys:
    """Return the keys of a directory.

    BadInput: it is in the clone or lacks a file. Refused: others can read it, a rotation was interrupted in it, or a
    certificate is not that of its key.
    """
    place = _place(directory)
    needed = [f"{name}{end}" for name in TITLES for end in (".key", ".crt", ".auth")]
    needed += [OWNER, UPDATE, UPDATE_PUBLIC, PCR, PCR_PUBLIC]
    missing = [name for name in needed if not (place / name).is_file()]
    if (place / SWITCHING).is_dir():
        raise Refused(f"A rotation of {directory} was interrupted; run: tools/keys rotate --switch {directory}")
    if missing:
        raise BadInput(f"{directory} has no {missing[0]}; tools/keys make {directory} makes a directory of keys.")
    secrets = [place, *(place / name for name in (*(f"{name}.key" for name in TITLES), UPDATE, PCR))]
    for path in secrets:
        if path.stat().st_mode & 0o077:
            raise Refused(f"Other users can read {path}; run: chmod -R go= {directory}")
    keys = Keys(place)
    for name in TITLES:
        if keys.key(name).public_key() != keys.certificate(name).public_key():
            raise Refused(f"{place / name}.crt is not the certificate of {name}.key; restore {directory} from a copy.")
    public = keys.key(PCR.removesuffix(".key")).public_key()
    if public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) != (place / PCR_PUBLIC).read_bytes():
        raise Refused(f"{place / PCR_PUBLIC} is not the public key of {PCR}; restore {directory} from a copy.")
    return keys


def begin_rotation(directory: Path, now: datetime) -> Keys:
    """Make the next keys of images, root and updates, which are accepted from now on and do not sign yet.

    Refused: a rotation is under way. Otherwise as `load`.
    """
    keys = load(directory)
    with lock.held(keys.directory / LOCK, f"{directory} is being changed; waiting for it."):
        if (keys.directory / NEXT).exists():
            raise Refused(f"{directory} has the next keys already; run: tools/keys rotate --switch {directory}")
        new = Path(tempfile.mkdtemp(prefix=f".{NEXT}.", dir=keys.directory))
        try:
            _make_pair(new, "db", now)
            _make_root_key(new)
            secret, public = pgp.make()
            _write(new / UPDATE, secret)
            _write(new / UPDATE_PUBLIC, public + (keys.directory / UPDATE_PUBLIC).read_bytes())
            new.rename(keys.directory / NEXT)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        _accept_next(keys, now)
    return keys


def _accept_next(keys: Keys, now: datetime) -> None:
    _write_variables(keys, ["db"], now)
    _write(keys.directory / UPDATE_PUBLIC, (keys.directory / NEXT / UPDATE_PUBLIC).read_bytes())


def switch(directory: Path, now: datetime) -> Keys:
    """Sign with the next keys from now on; goes on where it was interrupted.

    BadInput: there are no next keys. Otherwise as `load`.
    """
    place = _place(directory)
    if not (place / NEXT).is_dir() and not (place / SWITCHING).is_dir():
        raise BadInput(f"{directory} has no next keys; tools/keys rotate {directory} makes them.")
    with lock.held(place / LOCK, f"{directory} is being changed; waiting for it."):
        if not (place / SWITCHING).is_dir():
            # what a broken beginning has left out
            _accept_next(load(directory), now)
            (place / NEXT).rename(place / SWITCHING)
            (place / SWITCHING / UPDATE_PUBLIC).unlink()
        olds = (place / OLD / str(number) for number in itertools.count(1))
        # the last that is kept; a directory of before the key of root has no such key
        old = next(path for path in olds if not (path / UPDATE).exists() or _same(path / UPDATE, place / UPDATE))
        old.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ROTATED:
            if (place / SWITCHING / name).exists():
                if not (old / name).exists():
                    _write(old / name, (place / name).read_bytes())
                (place / SWITCHING / name).rename(place / name)
        _write_variables(Keys(place), ["db"], now)
        shutil.rmtree(place / SWITCHING)
    return load(directory)


def _same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def _fingerprint(path: Path) -> str:
    """The sha256 of the public half of a secret key, as systemd-measure and systemd-cryptenroll name it."""
    public = Keys(path.parent).key(path.stem).public_key()
    return sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def show(keys: Keys) -> str:
    """Return what each key is for, with fingerprint and date. Failed: a key cannot be read."""
    lines = [f"Keys in {keys.directory}"]
    for name, title in TITLES.items():
        certificate = keys.certificate(name)
        day = certificate.not_valid_before_utc + timedelta(days=1)
        lines.append(f"  {name:<8}{title}, made {day:%Y-%m-%d}")
        lines.append(f"  {'':<8}{certificate.fingerprint(SHA256()).hex()}")
    others = keys.accepted()[1:]
    lines += [f"  {'':<8}also accepted: {certificate.fingerprint(SHA256()).hex()}" for certificate in others]
    lines += ["  pcr     key that opens root", f"  {'':<8}{_fingerprint(keys.root_keys()[0])}"]
    lines += [f"  {'':<8}also signs: {_fingerprint(key)}" for key in keys.root_keys()[1:]]
    (signing,) = pgp.fingerprints(keys.directory / UPDATE)
    accepted = pgp.fingerprints(keys.directory / UPDATE_PUBLIC)
    lines += ["  update  key of updates", f"  {'':<8}{signing}"]
    lines += [f"  {'':<8}also accepted: {fingerprint}" for fingerprint in accepted if fingerprint != signing]
    if (keys.directory / NEXT).is_dir():
        lines.append(
            f"The next keys are accepted and do not sign yet; then: tools/keys rotate --switch {keys.directory}"
        )
    return "\n".join(lines)


MADE = """\
Keep a copy on a medium that is not connected: with a lost {name} nothing can be signed that servers accept.
Next: tools/build --sign {name}"""
ROTATING = """\
The next keys are in {name}/next. Images and updates are still signed with the keys in use.
1. Build and install a version: tools/build --sign {name}
2. Enrol the new db.auth on each server with Secure Boot; the page Signed boot of the manual shows the command.
3. When every server has both: tools/keys rotate --switch {name}"""
SWITCHED = """\
Images and updates are signed with the new keys. The keys of before are in {name}/old and are still accepted.
Next: tools/build --sign {name}"""


def main(arguments: list[str]) -> int:
    """Make, rotate or show the keys of a directory."""
    parser = argparse.ArgumentParser(
        prog="tools/keys", description="Make and rotate the keys that images are signed with."
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    helps = {"make": "make all keys in a new directory", "show": "list the keys with their fingerprints"}
    for verb, words in (helps | {"rotate": "make the next keys of images, root and updates"}).items():
        verb_parser = verbs.add_parser(verb, help=words, description=f"{words[0].upper()}{words[1:]}.")
        verb_parser.add_argument("directory", type=Path, metavar="KEYDIR")
        if verb == "rotate":
            verb_parser.add_argument("--switch", action="store_true", help="sign with the next keys from now on")
    chosen = parser.parse_args(arguments)
    now = datetime.now(UTC)
    if chosen.verb == "show":
        print(show(load(chosen.directory)))
        return 0
    if chosen.verb == "make":
        keys, words = make(chosen.directory, now), MADE
    elif chosen.switch:
        keys, words = switch(chosen.directory, now), SWITCHED
    else:
        keys, words = begin_rotation(chosen.directory, now), ROTATING
    print(show(keys))
    print(words.format(name=chosen.directory))
    return 0


if __name__ == "__main__":
    finish(main)
