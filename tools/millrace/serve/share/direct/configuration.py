# SPDX-License-Identifier: Apache-2.0
"""The configuration of the kernel's SMB server, and the users that it knows."""

import base64
from collections.abc import Sequence

from millrace.serve.config.model import Config
from millrace.serve.share.model import Share
from millrace.serve.share.smb_parameters import masks
from millrace.system import paths
from millrace.system.files import write_text
from millrace.system.render import render
from millrace.system.run import Runner
from millrace.system.smb_passwords import nt_hashes


def served(shares: Sequence[Share]) -> list[Share]:
    """Return the shares that the kernel's SMB server serves."""
    return [share for share in shares if share.direct is not None and share.direct.obstacle is None]


def configuration(shares: Sequence[Share], checker: str | None = None) -> str:
    """Return the text of ksmbd.conf; `checker` is an account that may open every share, to read."""
    return render(f"{paths.SMB_DIRECT}.j2", shares=served(shares), parameters=parameters, checker=checker)


def parameters(share: Share, checker: str | None = None) -> dict[str, str]:
    """Return the lines of a share's section, in their order. ValueError: the share is not on SMB Direct."""
    if share.direct is None:
        raise ValueError(f"{share.name} is not on SMB Direct")
    people = [*share.direct.users, *(f"@{group}" for group in share.direct.groups), *([checker] if checker else [])]
    return {
        **({"comment": share.comment} if share.comment else {}),
        "path": share.path,
        "read only": "yes" if share.type == "dataset-ro" else "no",
        "valid users": " ".join(people),
        **({"read list": checker} if checker else {}),
        **masks(share),
    }


def section(share: Share) -> list[str]:
    """Return the lines of one share in ksmbd.conf; none where it is not on SMB Direct."""
    if share.direct is None:
        return []
    return [f"[{share.name}]", *(f"{name} = {value}" for name, value in parameters(share).items())]


def write_users(config: Config, run: Runner, *more: str) -> None:
    """Write the users that it knows: those of this server with a password for SMB, and `more`. Failed: pdbedit fails.

    Nothing counts wrong passwords there: administrators, whose password is that of the server, are left out, and
    accounts that Samba has locked.
    """
    names = [*(user.name for user in config.users if user.role is None), *more]
    lines = [
        f"{name}:{base64.b64encode(bytes.fromhex(value)).decode()}\n"
        for name, value in sorted(nt_hashes(names, run, "NL").items())
    ]
    write_text(paths.smb_direct_users(), "".join(lines), mode=0o600)
