# SPDX-License-Identifier: Apache-2.0
"""The second factor of an account: a code of an authenticator app (RFC 6238), which pam_google_authenticator(8) checks.

A file for each account has the secret, the options of the module and the recovery codes; the module rewrites it at each
sign-in, so that no code counts twice. An account without a file signs in without a code.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

from millrace.serve.account import account_paths
from millrace.system import locks, sysfs
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import write_text

GROUP = "millrace-second-factor"
"""sshd asks its members for a code after the key (sshd_config.d/50-millrace.conf)."""

STEP = timedelta(seconds=30)
DIGITS = 6
# one step earlier and later, as the module accepts with WINDOW_SIZE 3
_TOLERANCE = 1
# A clock that is off by hours has the wrong time zone set; beyond half a day the day is wrong.
_FARTHEST = timedelta(hours=12) // STEP
# 160 bits, RFC 4226 R6
_SECRET_BYTES = 20
RECOVERY_CODES = 8
TRIES, PERIOD = 5, timedelta(minutes=15)
"""So many codes of an account are verified in so much time: a guess takes years."""
# at most 3 tries in 30 s, and no code twice
_OPTIONS = ("RATE_LIMIT 3 30", "WINDOW_SIZE 3", "DISALLOW_REUSE {step}", "TOTP_AUTH")


def is_on(name: str) -> bool:
    """Whether an account signs in with a code. PermissionError: the caller is not root."""
    return (account_paths.second_factor_dir() / name).exists()


def groups(name: str) -> set[str]:
    """Return the group of those who have a second factor, where this person has one."""
    return {GROUP} if is_on(name) else set()


def begin(name: str) -> str:
    """Make a new secret and return it in base32; nothing asks for its codes before `confirm`.

    Refused: there is a second factor already. An open session would replace it without a code of the old one.
    """
    _refuse_second(name)
    secret = base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    account_paths.enrolment_dir().mkdir(mode=0o700, exist_ok=True)
    write_text(account_paths.enrolment_dir() / name, secret, mode=0o600)
    return secret


def confirm(name: str, code: str, now: datetime) -> list[str]:
    """Have this person sign in with a code from now on; return the recovery codes, which are stored nowhere else.

    Refused: no enrolment began, there is a second factor already, or the code is wrong; the sentence has the time of
    the server where the clock of the app differs. BadInput: it is no code.
    """
    _refuse_second(name)
    waiting = account_paths.enrolment_dir() / name
    if not waiting.exists():
        enroll = command("millrace access second-factor enroll", name)
        raise Refused(f"no secret waits for {name}: {enroll}")
    secret = waiting.read_text()
    step = _verified(secret, code, now, _FARTHEST)
    codes = [str(10**7 + secrets.randbelow(9 * 10**7)) for _ in range(RECOVERY_CODES)]
    options = [f'" {option.format(step=step)}' for option in _OPTIONS]
    account_paths.second_factor_dir().mkdir(mode=0o700, parents=True, exist_ok=True)
    write_text(account_paths.second_factor_dir() / name, "\n".join([secret, *options, *codes, ""]), mode=0o600)
    waiting.unlink()
    return codes


def prove(name: str, code: str, now: datetime) -> None:
    """Verify a code of the app of an account.

    Refused: it is wrong, or too many were. BadInput: it is no code. Failed: the file with the secret is damaged.
    Whether a code is of another time is not said: one of an hour ahead would sign in, in an hour.
    """
    account_paths.enrolment_dir().mkdir(mode=0o700, exist_ok=True)
    tries = account_paths.enrolment_dir() / f".{name}"
    with locks.held(account_paths.enrolment_dir() / ".lock"):
        before = [float(stamp) for stamp in (sysfs.text(tries) or "").split()]
        recent = [stamp for stamp in before if abs(now.timestamp() - stamp) < PERIOD.total_seconds()]
        if len(recent) >= TRIES:
            raise Refused(
                f"{TRIES} codes of {name} were wrong: wait {_minutes(int(PERIOD.total_seconds()))} and try again, or "
                "ask another administrator to remove the second factor"
            )
        write_text(tries, "\n".join(map(str, [*recent, now.timestamp()])), mode=0o600)
    _verified(_secret(name), code, now)
    tries.unlink(missing_ok=True)


def remove(name: str) -> None:
    """Let an account sign in without a code."""
    for directory in (account_paths.second_factor_dir(), account_paths.enrolment_dir()):
        (directory / name).unlink(missing_ok=True)


def recovery_codes_left(name: str) -> int:
    """Return how many recovery codes were not used yet; 0 without a second factor."""
    if not is_on(name):
        return 0
    return sum(map(_is_recovery, _lines(name)))


def uri(name: str, host: str, secret: str) -> str:
    """Return what an authenticator app reads from a QR code."""
    label = quote(f"{host}:{name}", safe=":")
    return f"otpauth://totp/{label}?secret={secret}&issuer={quote(host)}&digits={DIGITS}&period={STEP.seconds}"


def code_at(secret: str, step: int) -> str:
    """Return the code of one step of 30 s (RFC 6238)."""
    digest = hmac.new(base64.b32decode(secret), step.to_bytes(8), hashlib.sha1).digest()
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFFFFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def _lines(name: str) -> list[str]:
    # A kept state may have brought it.
    return (account_paths.second_factor_dir() / name).read_text(errors="replace").splitlines()


def _secret(name: str) -> str:
    secret = next(iter(_lines(name)), "")
    try:
        whole = len(base64.b32decode(secret)) > 0
    except ValueError:
        whole = False
    if not whole:
        remove = command("millrace access second-factor remove", name)
        raise Failed(f"the second factor of {name} is damaged; have another administrator run {remove}")
    return secret


def _refuse_second(name: str) -> None:
    if is_on(name):
        raise Refused(f"{name} has a second factor already: {command('millrace access second-factor remove', name)}")


def _verified(secret: str, code: str, now: datetime, farthest: int = 0) -> int:
    """The step of a code that is right now; `farthest` steps away its clock is named."""
    digits = code.replace(" ", "")
    if len(digits) != DIGITS or not (digits.isascii() and digits.isdigit()):
        raise BadInput(f"a code of an authenticator app has {DIGITS} digits")
    present = int(now.timestamp()) // STEP.seconds
    if (step := _step_of(secret, digits, range(present - _TOLERANCE, present + _TOLERANCE + 1))) is not None:
        return step
    if (step := _step_of(secret, digits, range(present - farthest, present + farthest))) is not None:
        off = (step - present) * STEP.seconds
        raise Refused(
            f"this code is of a clock that is {_minutes(abs(off))} {'ahead' if off > 0 else 'behind'}: "
            f"the clock of this server shows {now:%H:%M:%S} UTC; correct the one that is wrong and enter a new code"
        )
    raise Refused(
        f"this code is wrong: enter the one that the app shows now; the clock of this server shows {now:%H:%M:%S} UTC"
    )


def _step_of(secret: str, code: str, steps: Sequence[int]) -> int | None:
    return next((step for step in steps if hmac.compare_digest(code_at(secret, step), code)), None)


def _minutes(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def _is_recovery(line: str) -> bool:
    return len(line) == 8 and line.isdigit()
