# SPDX-License-Identifier: Apache-2.0
"""A backup is added, or a repository that exists is attached: what has to be typed, pinned and made before."""

import base64
import binascii
import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from millrace.protect.backup import backup_store, backup_target
from millrace.protect.backup.backup_model import Backup, BackupAdded, BackupRetention, BackupTarget
from millrace.protect.backup.backup_rules import backup_name
from millrace.protect.snapshot.snapshot_schedule import stamp
from millrace.serve.certificate import pem
from millrace.serve.config import store
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.names import share_name
from millrace.system.run import Runner, last_words
from millrace.system.text import shown
from millrace.system.users import invoking_user, only_root

LARGEST_AUTHORITY = 1 << 16
_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "ssh-rsa")
"""Host keys in the order in which they are pinned."""


@dataclass(frozen=True)
class BackupWish:
    """What an administrator gave. `settings` are fields of a `Backup`, `authority` is PEM text."""

    name: str
    share: str
    target: str
    user: str | None
    settings: dict[str, object]
    retention: dict[str, int]
    authority: str | None


@dataclass(frozen=True)
class Typed:
    """How secrets are asked for: the secret of the target, the password of a repository that exists, a host key."""

    secret: Callable[[str], str]
    password: Callable[[], str] | None
    host_key: Callable[[str], None]


def add(wish: BackupWish, typed: Typed, run: Runner) -> BackupAdded:
    """Add a backup; with a typed password its repository exists.

    BadInput: a part of it is not valid. Refused: its name or its target is taken, the share does not exist, or the host
    key is not confirmed. Failed: the SFTP server shows no host key.
    """
    only_root()
    target = _target(wish)
    is_attached = typed.password is not None
    if not is_attached and store.load().share(wish.share) is None:
        raise Refused(f"share {shown(wish.share)} does not exist: millrace share list")
    files, public_key, fingerprint = dict[str, str](), None, None
    if target.protocol == "sftp":
        known, fingerprint = host_key(target, run)
        typed.host_key(fingerprint)
        private, public_key = _ssh_key(wish.name, run)
        files |= {backup_store.KNOWN_HOSTS: known, backup_store.SSH_KEY: private}
    secret = None
    if target.protocol != "sftp" and target.user is not None:
        secret = backup_store.checked_secret(typed.secret(f"Secret of {target.user}"))
    if target.protocol == "s3":
        files[backup_store.S3] = f"[default]\naws_access_key_id = {target.user}\naws_secret_access_key = {secret}\n"
    if wish.authority is not None:
        files[backup_store.AUTHORITY] = _authority(wish.authority, target)
    password = backup_store.checked_secret(typed.password()) if typed.password is not None else None
    made = password or backup_store.new_password()
    files |= {backup_store.PASSWORD: made, backup_store.REPOSITORY: backup_target.repository(target, secret)}
    backup = _backup(wish, target, fingerprint, is_attached)
    backup_store.add(backup, files, is_attached)
    return BackupAdded(backup=backup, password=None if is_attached else made, public_key=public_key)


def public_key(backup: Backup, run: Runner) -> str | None:
    """Return the SSH key that the SFTP server has to accept; None for another target, or where it cannot be read."""
    if backup.target.protocol != "sftp":
        return None
    shown_key = run(["ssh-keygen", "-y", "-f", str(backup_store.secrets_directory(backup.name) / backup_store.SSH_KEY)])
    return shown_key.out.strip() if shown_key.status == 0 else None


def host_key(target: BackupTarget, run: Runner) -> tuple[str, str]:
    """Return the line of the host key of an SFTP server for ssh, and its fingerprint. Failed: it shows none."""
    # the host is a name or an address, and begins with no dash
    said = run(["ssh-keyscan", "-T", "10", "-p", str(target.port), target.host])
    keys = {}
    for line in said.out.splitlines():
        words = line.split()
        if len(words) == 3 and not line.startswith("#"):
            keys[words[1]] = words
    kind = next((kind for kind in _TYPES if kind in keys), None)
    if kind is None:
        raise Failed(f"{backup_target.words(target)} shows no SSH host key: {last_words(said)}")
    return f"{' '.join(keys[kind])}\n", _fingerprint(keys[kind][2])


def _target(wish: BackupWish) -> BackupTarget:
    try:
        backup_name(wish.name)
        share_name(wish.share)
        return backup_target.parse(wish.target, wish.user)
    except ValueError as error:
        raise BadInput(str(error)) from error


def _backup(wish: BackupWish, target: BackupTarget, fingerprint: str | None, attached: bool) -> Backup:
    return checked(
        lambda: Backup.model_validate(
            {
                "name": wish.name,
                "id": uuid.uuid4().hex,
                "share": wish.share,
                "target": target.model_dump(),
                "retention": BackupRetention.model_validate(wish.retention).model_dump(),
                "host_key": fingerprint,
                "attached": attached,
                # else its share, which may be new and empty, would be sent before anything came back
                "paused": attached,
                "by": invoking_user(),
                "at": stamp(datetime.now(UTC)),
                **wish.settings,
            }
        )
    )


def _ssh_key(name: str, run: Runner) -> tuple[str, str]:
    with backup_store.staged_secrets(name) as place:
        key = place / backup_store.SSH_KEY
        # without a passphrase: a timer uses it
        made = run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"millrace-backup-{name}", "-f", str(key)])
        if made.status != 0:
            raise Failed(f"no SSH key can be made: {last_words(made)}")
        return key.read_text(), key.with_name(f"{key.name}.pub").read_text().strip()


def _fingerprint(blob: str) -> str:
    try:
        digest = hashlib.sha256(base64.b64decode(blob, validate=True)).digest()
    except (ValueError, binascii.Error) as error:
        raise Failed("the SFTP server shows a host key that cannot be read") from error
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _authority(text: str, target: BackupTarget) -> str:
    if not target.tls:
        raise BadInput("a target without TLS has no certificate: use --ca with https")
    bundle = pem.split(text[: LARGEST_AUTHORITY + 1])
    if len(text) > LARGEST_AUTHORITY or bundle.keys or not bundle.certificates:
        raise BadInput("--ca names a file in PEM form that has the certificate of an authority and no private key")
    return "".join(bundle.certificates)
