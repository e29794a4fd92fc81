# SPDX-License-Identifier: Apache-2.0
"""Restore a kept state on this boot drive. Each step can be repeated: after a power cut all of them are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter, ValidationError

from millrace.lifecycle.access.one_time import USER
from millrace.lifecycle.adopt import logs, progress
from millrace.lifecycle.adopt.ports import moved, set_addresses
from millrace.lifecycle.keep import ssh_keys
from millrace.lifecycle.keep.kept_files import KEPT, KeptPath, has
from millrace.lifecycle.keep.model import Manifest, ManifestMember
from millrace.serve.account import accounts
from millrace.serve.certificate.files import certificate_lock
from millrace.serve.config import files
from millrace.serve.config.model import Config, first_config
from millrace.serve.render import rendered
from millrace.system import paths, sysfs
from millrace.system.documents import parse_model, write_model
from millrace.system.errors import BadInput, Failed, MillraceError
from millrace.system.files import replace_link, write_bytes
from millrace.system.run import Runner, must

SHADOW, QUOTAS, DUMP = "accounts/shadow", "accounts/quotas.json", ".dump"
POOL, CONFIG = "var/lib/millrace/pool.json", "var/lib/millrace/config.json"
HISTORY = "var/lib/millrace/config-history/"
ZONE = re.compile(r"(\.\.|)/usr/share/zoneinfo(/[A-Za-z0-9_+-]+)+")
PERMISSIONS = 0o777
"""Bits of a mode that come back: no kept file is run as another user, and the sandbox refuses other bits."""
LONGEST = 255
"""Bytes of a file name (path_resolution(7))."""
LAST = (POOL, CONFIG, SHADOW, QUOTAS)
"""What is not a file to be written as it is."""

# They have read what was restored when they started; those that serve start with the pool.
READERS = ("millrace-certificate.service", "cockpit.service", "tlshd.service", "ssh.service")


def restore(manifest: Manifest, contents: Mapping[str, bytes], macs: Mapping[str, str], run: Runner) -> list[str]:
    """Write everything but pool.json and set accounts and addresses; return what does not come back, in sentences.

    `contents` are files by path; a member of the manifest that is not in it stays out. BadInput: the state names a file
    that is not kept; nothing is written. Failed: a file, an account or a quota cannot be restored.
    """
    verify(manifest, contents)
    members = [(member, _kept(member)) for member in manifest.members]
    progress.record("files")
    # The new /etc/hostname starts a renewal: in between it would find a certificate that does not name this server.
    with certificate_lock():
        missing = _files(members, contents, run)
        missing += [f"{kept.path} could not be kept: it does not come back" for kept in _unread(manifest)]
        missing += _lost([member for member, _ in members if member.path not in contents and member.sealed])
        config = moved(config_of(manifest, contents), macs)
        write_model(files.config_file(), config)
        _quotas(contents.get(QUOTAS))
        _identity(run)
    progress.record("accounts")
    accounts.ensure(config.users, config.groups, run, config.admin)
    accounts.set_hashes(config, _hashes(contents.get(SHADOW, b""), config), {}, run)
    progress.record("ports")
    try:
        missing += set_addresses(config, run)
    except MillraceError as error:
        missing.append(f"the addresses of the ports are not set: {error}")
    progress.record("services")
    for unit in READERS:
        run(["systemctl", "try-restart", unit])
    return [*missing, *logs.take_over(run)]


def _files(members: Sequence[tuple[ManifestMember, KeptPath]], contents: Mapping[str, bytes], run: Runner) -> list[str]:
    """Write the files; return which SSH keys do not come back."""
    missing = []
    for member, kept in members:
        if member.path in LAST or member.path not in contents:
            continue
        if kept.how == "keys":
            missing += _keys(member.path, contents[member.path])
        else:
            _write(member, contents[member.path], run)
    return missing


def verify(manifest: Manifest, contents: Mapping[str, bytes]) -> None:
    """Verify that this release keeps each file of a state, and that what has to be text is.

    BadInput: it does not, a link leads elsewhere, or a file is damaged.
    """
    for member in manifest.members:
        _kept(member)
    for path, data in contents.items():
        if path == SHADOW or path.endswith(DUMP):
            _text(path, data)
    _quota_states(contents.get(QUOTAS))
    # what is left out is left out by its path: each file has one only
    links = {member.path for member in manifest.members if member.link is not None}
    for member in manifest.members:
        if not links.isdisjoint(map(str, PurePosixPath(member.path).parents)):
            raise BadInput(f"the kept state has {member.path}, which is behind a link")


def _kept(member: ManifestMember) -> KeptPath:
    path = PurePosixPath(member.path)
    if any("\0" in part or len(part.encode(errors="replace")) > LONGEST for part in (*path.parts, member.link or "")):
        raise BadInput("the kept state has a name that no file can have")
    kept = next((candidate for candidate in KEPT if has(candidate, member.path)), None)
    if kept is None or path.is_absolute() or ".." in path.parts or str(path) != member.path:
        raise BadInput(f"the kept state has {member.path}, which is not kept by this release: use a later one")
    if kept.how == "link":
        # localtime(5): the only one that leads elsewhere
        if member.link is None or not ZONE.fullmatch(member.link):
            raise BadInput(f"the kept state has {member.path}, which is no link to a time zone")
    elif member.link is not None and (member.link.startswith("/") or ".." in PurePosixPath(member.link).parts):
        raise BadInput(f"the kept state has a link {member.path} that leads elsewhere")
    return kept


def _write(member: ManifestMember, data: bytes, run: Runner) -> None:
    path = paths.ROOT / member.path
    if member.link is not None:
        replace_link(path, member.link)
    elif member.path.endswith(DUMP):
        _database(path.with_name(path.name.removesuffix(DUMP)), data, run)
    else:
        write_bytes(path, data, member.mode & PERMISSIONS)
        path.chmod(member.mode & PERMISSIONS)


def _keys(path: str, data: bytes) -> list[str]:
    """A link in a home directory is no reason not to serve."""
    try:
        ssh_keys.restore(path, data)
    except Failed as error:
        return [f"the SSH keys in /{path} do not come back: {error}"]
    return []


def _database(path: Path, dump: bytes, run: Runner) -> None:
    """Make a database of Samba of its dump (tdbrestore(8)), beside the one that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.restored")
    made.unlink(missing_ok=True)
    try:
        must(run, ["tdbrestore", str(made)], _text(path.name, dump))
        # tdbrestore does not sync what it writes, and nothing restores it again once pool.json is there
        write_bytes(path, made.read_bytes(), 0o600)
        path.chmod(0o600)
    finally:
        made.unlink(missing_ok=True)


def config_of(manifest: Manifest, contents: Mapping[str, bytes]) -> Config:
    """Return the desired state that was kept, else that of a server on which nothing was decided yet.

    As there (`config.store.read`), a history of changes without the state itself is a loss: the default could open what
    was closed. LaterRelease: a later release wrote it. BadInput: it is damaged, lost, or could not be kept.
    """
    named = [*(one.path for one in manifest.members), *(one.path for one in _unread(manifest))]
    decided = any(path == CONFIG or path.startswith(HISTORY) for path in named)
    return parse_model(contents.get(CONFIG, b""), Path(CONFIG), Config) if decided else first_config()


def _unread(manifest: Manifest) -> Iterator[KeptPath]:
    names = {problem.partition(":")[0] for problem in manifest.problems}
    return (one for one in KEPT if one.path in names)


def _lost(members: list[ManifestMember]) -> list[str]:
    return [f"{one.path} is encrypted and does not come back without the passphrase" for one in members]


def _quotas(data: bytes | None) -> None:
    """No tree is walked whose quota project is set already."""
    if (states := _quota_states(data)) is not None:
        rendered.set_quotas(states)


def _quota_states(data: bytes | None) -> dict[str, str] | None:
    try:
        return None if data is None else TypeAdapter(dict[str, str]).validate_json(data)
    except ValidationError as error:
        raise BadInput(f"{QUOTAS} in the kept state is not valid") from error


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} in the kept state is damaged: it is not text") from error


def _identity(run: Runner) -> None:
    """The host name is that of the state now; the machine ID counts from the next boot.

    The SID that Samba shows and the names in the certificate are those of the host name.
    """
    name = sysfs.text(paths.ROOT / "etc/hostname")
    if name and "?" in name:
        # hostname(5): digits of the machine ID's hash take their place; hostnamed has read it when it started
        must(run, ["systemctl", "try-restart", "systemd-hostnamed.service"])
        name = must(run, ["hostnamectl", "--static"]).strip()
    if name:
        try:
            sysfs.write(paths.ROOT / "proc/sys/kernel/hostname", name)
        except OSError as error:
            raise Failed(f"the host name cannot be set ({error.strerror})") from error


def _hashes(shadow: bytes, config: Config) -> dict[str, str]:
    names = {USER, *(user.name for user in config.users)}
    fields = [line.split(":") for line in _text(SHADOW, shadow).splitlines()]
    # an exclamation mark locks an account, which its entry in the desired state does again
    hashes = {one[0]: one[1].removeprefix("!") for one in fields if len(one) > 1 and one[0] in names}
    return {name: value for name, value in hashes.items() if value.startswith("$")}
