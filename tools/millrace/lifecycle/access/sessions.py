# SPDX-License-Identifier: Apache-2.0
"""Sessions of the web console, of ssh and of the consoles, as logind has them."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Literal

from millrace.system.documents import Contract
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Runner, must
from millrace.system.users import only_root

Where = Literal["web console", "ssh", "console", "other"]

_ID = re.compile(r"[A-Za-z0-9]{1,32}")
_PLACES: dict[str, Where] = {"cockpit": "web console", "sshd": "ssh", "login": "console"}


class SessionEntry(Contract):
    """A session. `since` is ISO 8601 in UTC; `address` is that of the browser or the ssh client, empty at a console."""

    id: str
    name: str
    where: Where
    address: str
    since: str | None


def sessions(run: Runner) -> list[SessionEntry]:
    """Return the sessions of people, oldest first. Failed: logind does not answer."""
    try:
        rows = json.loads(must(run, ["loginctl", "list-sessions", "--output=json"]))
        ids = [str(row["session"]) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed("loginctl does not list the sessions as expected: systemctl status systemd-logind") from error
    found = [_session(one, run) for one in ids if _ID.fullmatch(one)]
    return sorted((one for one in found if one is not None), key=lambda one: (one.since or "", one.id))


def disconnect(number: str, run: Runner) -> str:
    """End a session and return whose it was. BadInput: this is no number of a session. Refused: it is over."""
    only_root()
    if not _ID.fullmatch(number):
        raise BadInput("give the number of a session: millrace access sessions")
    session = next((one for one in sessions(run) if one.id == number), None)
    if session is None:
        raise Refused(f"there is no session {number} any more: millrace access sessions")
    must(run, ["loginctl", "terminate-session", number])
    return session.name


_SHOWN = ("Name", "Service", "RemoteHost", "Timestamp", "Class")


def _session(number: str, run: Runner) -> SessionEntry | None:
    """A session; None where it ended meanwhile or is that of a system manager."""
    words = [f"--property={name}" for name in _SHOWN]
    result = run(["loginctl", "show-session", number, "--timestamp=unix", *words])
    values: dict[str, Any] = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
    if result.status != 0 or not values.get("Class", "").startswith("user"):
        return None
    stamp = values.get("Timestamp", "").removeprefix("@")
    since = datetime.fromtimestamp(int(stamp), UTC).isoformat(timespec="seconds") if stamp.isdigit() else None
    return SessionEntry(
        id=number,
        name=values.get("Name", ""),
        where=_PLACES.get(values.get("Service", ""), "other"),
        address=values.get("RemoteHost", ""),
        since=since,
    )
