# SPDX-License-Identifier: Apache-2.0
"""Where a repository is, as an administrator writes it: s3:https://…, sftp://… or rest:https://…, without secrets."""

import re

from millrace.protect.backup.backup_model import BackupTarget
from millrace.protect.backup.backup_rules import PATH, target_host, user_name
from millrace.system.text import shown

SSH_PORT = 22
REST_PORT = 8000
_PORTS = {"https": 443, "http": 80}
_FORMS = "s3:https://HOST/BUCKET, sftp://USER@HOST/DIRECTORY or rest:https://HOST:8000/NAME"
_HOST = r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^:/@\[\]]+))(?::(?P<port>[0-9]{1,5}))?"
_PATH = rf"(?P<path>/{PATH})"
_URL = re.compile(rf"(?P<kind>s3:|rest:)(?P<scheme>https?)://{_HOST}{_PATH}")
_SFTP = re.compile(rf"sftp://(?P<user>[a-z_][a-z0-9_.-]{{0,31}})@{_HOST}{_PATH}")


def parse(text: str, user: str | None = None) -> BackupTarget:
    """Return a target; `user` is the ID of an S3 key, or the user of a REST server. ValueError: it is none."""
    if match := _SFTP.fullmatch(text):
        if user is not None:
            raise ValueError("the user of an SFTP server is a part of the target: sftp://USER@HOST/DIRECTORY")
        path = match["path"].rstrip("/")
        if not path:
            raise ValueError(f"{shown(text)} names no directory: write it like sftp://USER@HOST/DIRECTORY")
        return BackupTarget(
            protocol="sftp", host=_host(match), port=_port(match, SSH_PORT), path=path, user=match["user"], tls=False
        )
    match = _URL.fullmatch(text)
    if match is None:
        if "@" in text and not text.startswith("sftp:"):
            raise ValueError(
                f"a target of S3 or a REST server has no user and no password in it; write it like {_FORMS}"
            )
        raise ValueError(f"{shown(text)} is not the target of a backup: write it like {_FORMS}")
    if user is not None:
        user = user_name(user)
    tls, path = match["scheme"] == "https", match["path"].strip("/")
    if match["kind"] == "s3:":
        if not tls:
            raise ValueError("S3 without TLS shows the names and sizes of what is sent: use https")
        if not path:
            raise ValueError(f"{shown(text)} names no bucket: write it like s3:https://HOST/BUCKET")
        if user is None:
            raise ValueError("S3 needs the ID of a key: --user KEY-ID; its secret is prompted for")
        return BackupTarget(protocol="s3", host=_host(match), port=_port(match, 443), path=path, user=user)
    if not tls and user is not None:
        raise ValueError("a password is not sent unencrypted: use rest:https")
    port = _port(match, _PORTS[match["scheme"]] if tls else REST_PORT)
    return BackupTarget(protocol="rest", host=_host(match), port=port, path=path, user=user, tls=tls)


def words(target: BackupTarget) -> str:
    """Return a target as an administrator writes it, without the user of S3 and REST."""
    where = f"{_bracketed(target.host)}:{target.port}"
    match target.protocol:
        case "sftp":
            return f"sftp://{target.user}@{where}{target.path}"
        case "s3":
            return f"s3:https://{where}/{target.path}"
        case "rest":
            return f"rest:http{'s' if target.tls else ''}://{where}/{target.path}"


def repository(target: BackupTarget, secret: str | None) -> str:
    """Return the location as restic reads it from a file; that of a REST server has the password in it."""
    where = f"{_bracketed(target.host)}:{target.port}"
    match target.protocol:
        case "sftp":
            # two slashes: an absolute path
            return f"sftp://{target.user}@{where}/{target.path}"
        case "s3":
            return f"s3:https://{where}/{target.path}"
        case "rest":
            sign_in = f"{target.user}:{_quoted(secret or '')}@" if target.user is not None else ""
            return f"rest:http{'s' if target.tls else ''}://{sign_in}{where}/{target.path}{'/' if target.path else ''}"


def _quoted(secret: str) -> str:
    from urllib.parse import quote

    return quote(secret, safe="")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _host(match: re.Match[str]) -> str:
    return target_host(match["v6"] or match["host"])


def _port(match: re.Match[str], default: int) -> int:
    port = int(match["port"] or default)
    if not 0 < port < 1 << 16:
        raise ValueError(f"{port} is no port: use 1 to 65535")
    return port
