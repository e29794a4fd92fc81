# SPDX-License-Identifier: Apache-2.0
"""Remove secrets, and replace what identifies the owner: as in a capture, and the names in the desired state."""

import re
from collections.abc import Iterable
from contextlib import suppress

from millrace.inventory.anonymise import Anonymiser
from millrace.inventory.capture import key
from millrace.inventory.model import Inventory
from millrace.inventory.present import present
from millrace.observe.alert import routes
from millrace.observe.alert.model import RouteSecrets
from millrace.protect.backup import backup_store
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.storage.assemble.readd import Returns
from millrace.storage.change.inserted import BY as POLICY
from millrace.storage.drive import drive_history
from millrace.storage.record import erasure, removal_record, scrub_record
from millrace.storage.record.drive_change import DriveChange
from millrace.storage.record.pool_file import known_pool
from millrace.storage.rescue.rescue_model import Rescue
from millrace.system import paths, sysfs
from millrace.system.documents import read_model
from millrace.system.errors import MillraceError

SECRET = "(removed)"
# Names that every server has, or that are words of Millrace.
COMMON = {
    "admin",
    "data",
    "home",
    "log",
    "root",
    "scratch",
    "sudo",
    "users",
    "nobody",
    "mixed",
    "training",
    "checkpoint",
}
# A shorter secret would be found inside of words.
SHORTEST_SECRET = 6
# Whatever program logged it: private keys, password hashes (crypt(5)), NT hashes, secrets that are named.
PATTERNS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        (r"\$(?:y|gy|7|2[abxy]|6|5|1|sha1|md5)\$[^\s:\"']+", 0),
        (r"DHHC-1:\S+|otpauth://\S+", 0),
        (r"(?<=systemd\.set_credential)\S*", 0),
        (r"(?i)(?<=bearer )\S+|(?<=basic )[A-Za-z0-9+/=]{8,}", 0),
        (
            r"(?i)(?:(?<=password)|(?<=passwd)|(?<=secret)|(?<=token)|(?<=api_key)|(?<=apikey))\"?\s?[=:]\s?\"?[^\s\",;]+",
            0,
        ),
        (r"\b[0-9A-F]{32}\b", 0),
    )
)
_URL = re.compile(r"\b(https?|sftp|smb|nfs)://[^\s\"'<>]+")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# Also before the end of a sentence, where a capture keeps it for the version of a firmware.
_ADDRESS = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)")
# A machine ID, a boot ID.
_ID128 = re.compile(r"\b[0-9a-f]{32}\b")
# How smbd logs a sign-in: users and computers that this server may not even know.
_SIGNED_IN = re.compile(r"(\b(?:user|became|mapped to|workstation) )\[[^\]]*\](?:\\\[[^\]]*\])?")


class Hider:
    """The pseudonyms and secrets of one server; reads them when it is made."""

    def __init__(self) -> None:
        hostname = sysfs.text(paths.ROOT / "proc/sys/kernel/hostname") or ""
        self._names = Anonymiser(key(paths.ROOT), hostname)
        for serial, wwid in _drives():
            self._names.serial(serial)
            self._names.identifier(wwid)
        self._secrets = sorted(
            {secret for secret in _secrets() if len(secret) >= SHORTEST_SECRET}, key=len, reverse=True
        )
        words = _words()
        self._words = words
        listed = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        self._word = re.compile(rf"(?<![\w-])(?:{listed})(?![\w-])") if words else None

    def text(self, text: str) -> str:
        """Return a text that can be given away."""
        for secret in self._secrets:
            text = text.replace(secret, SECRET)
        for pattern in PATTERNS:
            text = pattern.sub(SECRET, text)
        text = _SIGNED_IN.sub(r"\1[name]", text)
        if self._word:
            text = self._word.sub(lambda match: self._words[match[0]], text)
        text = _MAIL.sub("name@example.com", _URL.sub(r"\1://host.example.com", text))
        text = _ADDRESS.sub("192.0.2.1", text)
        text = _ID128.sub(lambda match: self._names.identifier(match[0]), text)
        return self._names.text(text)


def _drives() -> Iterable[tuple[str, str]]:
    """Serial and identifier of every drive that is known: here, at boot, in the pool, seen before, in a record."""
    drives = [(drive.serial, drive.wwid) for drive in present()]
    with suppress(MillraceError):
        drives += [(drive.serial, drive.wwid) for drive in read_model(paths.inventory_file(), Inventory).drives]
    with suppress(MillraceError):
        pool = known_pool()
        drives += [(drive.serial, drive.wwid) for drive in (pool.drives if pool else [])]
    drives += [(drive.serial, "") for drive in drive_history.load().drives]
    drives += [(record.serial, record.wwid) for record in erasure.load()]
    drives += [(serial, "") for serial in removal_record.load()]
    with suppress(MillraceError):
        drives += [(returned.serial, "") for returned in read_model(paths.returns_file(), Returns).returns]
    for change in _changes():
        drives += [(drive.serial, drive.wwid) for drive in (change.plan.old, change.plan.new) if drive]
    for rescue in _rescues():
        drives += [(serial, "") for serial in rescue.lost_drives]
        drives += [(drive.serial, drive.wwid) for drive in (rescue.new.drives if rescue.new else [])]
    return drives


def _changes() -> Iterable[DriveChange]:
    """The change of drives that is open, and the last one that ended."""
    for path in (paths.drive_change_file(), paths.drive_changed_file()):
        with suppress(MillraceError):
            yield read_model(path, DriveChange)


def _rescues() -> Iterable[Rescue]:
    for path in (paths.rescue_file(), paths.rescued_file()):
        with suppress(MillraceError):
            yield read_model(path, Rescue)


def _secrets() -> Iterable[str]:
    """Secrets of this server that a program could have logged."""
    if routes.secrets_file().exists():
        yield from read_model(routes.secrets_file(), RouteSecrets).secrets.values()
    yield from backup_store.all_secrets()
    for line in (sysfs.text(paths.ROOT / "etc/shadow") or "").splitlines():
        yield line.split(":")[1] if ":" in line else ""
    issue = sysfs.text(paths.ROOT / "run/issue.d/60-millrace-admin.issue") or ""
    yield from re.findall(r"One-time password: (\S+)", issue)


def _words() -> dict[str, str]:
    """The names that an administrator gave, with their pseudonyms, and those of the administrators of drives."""
    by = sorted({*(change.by for change in _changes()), *(rescue.by for rescue in _rescues())} - {POLICY})
    named: list[tuple[str, list[str]]] = []
    with suppress(MillraceError):
        named += _named(store.read().config)
    with suppress(MillraceError):
        backups = backup_store.load()
        named.append(("backup", [backup.name for backup in backups]))
        named.append(("target", [word or "" for each in backups for word in (each.target.host, each.target.user)]))
    pseudonyms: dict[str, str] = {}
    files = scrub_record.load().files
    for kind, names in (*named, ("administrator", by), ("file", files.names if files else [])):
        for name in names:
            if name and name.lower() not in COMMON and name not in pseudonyms:
                pseudonyms[name] = f"{kind}-{len(pseudonyms) + 1}"
    return pseudonyms


def _named(config: Config) -> Iterable[tuple[str, list[str]]]:
    accounts = [name for one in config.shares for name in (*one.smb.users, *one.named_groups)]
    yield "share", sorted(one.name for one in config.shares)
    yield "comment", sorted(one.comment for one in config.shares)
    yield "user", sorted(one.name for one in config.users)
    yield "group", sorted(one.name for one in config.groups)
    yield "account", sorted(accounts)
    if config.domain:
        domain = config.domain
        yield "domain", [domain.host_name, domain.zone, domain.realm, domain.workgroup, domain.machine]
