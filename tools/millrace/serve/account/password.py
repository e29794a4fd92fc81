# SPDX-License-Identifier: Apache-2.0
"""What a password must be: one rule for the command line, the pages, first-boot configuration and PAM.

/etc/security/pwquality.conf.d/50-millrace.conf holds it; pam_pwquality(8) and pwscore(1) read it.
"""

from millrace.system.errors import BadInput, Failed
from millrace.system.rule import PRINTABLE, Check, Rule
from millrace.system.run import Runner

# `minlen` in pwquality.conf.d/50-millrace.conf: a dialog checks the length before anything is sent.
SHORTEST = 12
LONGEST = 200

_ONE_LINE = f"a password is one line of {SHORTEST} to {LONGEST} printable characters"
PASSWORD = Rule(Check(f".{{{SHORTEST},{LONGEST}}}", _ONE_LINE), Check(PRINTABLE, _ONE_LINE))

_REFUSED = 1  # exit status of pwscore


def checked_password(password: str) -> str:
    """Return a password of 12 to 200 characters that can be typed at a prompt.

    BadInput: it is none; never repeats it.
    """
    problem = PASSWORD.problem(password)
    if problem is not None:
        raise BadInput(problem)
    return password


def strong_password(name: str, password: str, run: Runner) -> str:
    """Return a password of the user `name` that is in no list of those tried first. BadInput: why it is too weak.

    Failed: libpwquality does not work; then no password is set at all.
    """
    result = run(["pwscore", name], checked_password(password) + "\n")
    if result.status == _REFUSED:
        reason = result.err.strip().splitlines()[-1].strip()
        raise BadInput(f"this password is easy to guess, choose another: {reason[:1].lower()}{reason[1:]}")
    if result.status != 0:
        raise Failed(f"pwscore cannot check the password: {result.err.strip() or f'status {result.status}'}")
    return password
