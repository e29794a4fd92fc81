# SPDX-License-Identifier: Apache-2.0
"""How Windows and macOS open a share over SMB. Pure.

Neither has an NFS client for this server: that of macOS ends at version 4.0 (mount_nfs(8) of macOS), that of Windows at
version 3.
"""

import shlex

from millrace.measure.client.model import ClientSystem, SystemStep

DRIVE = "Z"
WORDS = {
    ("windows", "path"): "in the address bar of the Explorer",
    ("windows", "command"): "in PowerShell of the user, not elevated (Windows 10 or Server 2016 at least)",
    ("windows", "check"): "in an elevated PowerShell: Dialect is 3.1.1, Signed or Encrypted is True",
    ("macos", "path"): "in the Finder: Go, Connect to Server (Command-K)",
    ("macos", "command"): "in the Terminal",
    ("macos", "check"): "in the Terminal: SMB_VERSION is SMB_3.1.1, SIGNING_ON or ENCRYPTION_ON is TRUE",
}
TITLES = {"windows": "Windows", "macos": "macOS"}


def systems(host: str, share: str, user: str) -> list[ClientSystem]:
    """Return the steps of Windows and macOS. `user` is NAME or DOMAIN\\NAME, as the recipe checks it."""
    return [
        ClientSystem(name="windows", steps=_windows(host, share, user)),
        ClientSystem(name="macos", steps=_macos(host, share, user)),
    ]


def lines(found: list[ClientSystem]) -> list[str]:
    """Return the steps as comments and lines to type."""
    return [
        line
        for system in found
        for step in system.steps
        for line in (f"# {TITLES[system.name]}, {WORDS[system.name, step.kind]}", step.text)
    ]


def _windows(host: str, share: str, user: str) -> list[SystemStep]:
    # a colon cannot be in a UNC path
    name = f"{host.replace(':', '-')}.ipv6-literal.net" if ":" in host else host
    path = f"\\\\{name}\\{share}"
    who = f"-Credential (Get-Credential '{user}')"
    mapping = f"New-PSDrive -Name {DRIVE} -PSProvider FileSystem -Root '{path}' -Persist {who}"
    shown = "Select-Object ShareName, UserName, Dialect, Signed, Encrypted"
    return [
        SystemStep(kind="path", text=path),
        SystemStep(kind="command", text=mapping),
        SystemStep(kind="check", text=f"Get-SmbConnection -ServerName '{name}' | {shown}"),
    ]


def _macos(host: str, share: str, user: str) -> list[SystemStep]:
    name = f"[{host}]" if ":" in host else host
    where = f"{user.replace(chr(92), ';')}@{name}/{share}"
    directory = f'"$HOME"/{shlex.quote(share)}'
    return [
        SystemStep(kind="path", text=f"smb://{where}"),
        SystemStep(kind="command", text=f"mkdir -p {directory} && mount_smbfs {shlex.quote(f'//{where}')} {directory}"),
        SystemStep(kind="check", text=f"smbutil statshares -m {directory}"),
    ]
