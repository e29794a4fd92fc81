# SPDX-License-Identifier: Apache-2.0
"""The web console of the image on loopback of a network of its own, without a kernel of its own: seconds, not minutes.

`python -m tests.image.signing_in TREE SCRATCH`, in mount, PID and network namespaces of its own; prints what happened.
"""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.image.served import PORT, root, serve
from vm.console import SignIn, sign_in

OWN = "correct-horse-9-battery"
VERA = "looks-7-but-touches-nothing"
NOEL = "files-only-5-of-them"
# "deny" of /etc/security/faillock.conf, and one: pam_faillock 1.7.0 does not count the first failure after a success
ATTEMPTS = 11
# of mkosi.extra/usr/share/pam-configs/millrace-lockout
WEB_TALLY = "/run/faillock-web"


def main(tree: str, scratch: Path) -> None:
    """Make the administrator as first boot does, then let people sign in."""
    box = root(tree, scratch)

    def run(*argv: str, stdin: str = "") -> str:
        return subprocess.run(
            ["chroot", str(box), *argv], input=stdin, capture_output=True, text=True, check=True
        ).stdout

    run("/usr/bin/millrace", "admin", "create")
    one_time = (box / "run/issue.d/60-millrace-admin.issue").read_text().split("password: ")[1].split()[0]
    # with a password that would do at a prompt
    run("/usr/sbin/chpasswd", stdin="root:not-for-the-web-1\n")
    run("/usr/bin/millrace", "access", "create", "vera", "--role", "viewer", "--password-stdin", stdin=f"{VERA}\n")
    run("/usr/bin/millrace", "user", "create", "noel", "--password-stdin", stdin=f"{NOEL}\n")
    (box / "srv/pool/data").mkdir(parents=True)
    (box / "srv/pool/data/weights").touch()
    run("/usr/bin/systemd-tmpfiles", "--create", "--prefix=/srv/pool", "millrace-console.conf")
    serve(box)
    smb = ("/usr/bin/pdbedit", "-s", "/dev/null", "-L", "-w", "admin")
    before = run(*smb).split(":")[3]
    seen = {
        "root": _in("root", "not-for-the-web-1"),
        "asked": _in("admin", one_time),
        "changed to a weak one": _in("admin", one_time, "secret"),
        "changed": _in("admin", one_time, OWN, OWN),
        "with the old one": _in("admin", one_time),
        "with one's own": _in("admin", OWN),
        "who may look": _in("vera", VERA),
        "who may not": _in("noel", NOEL),
    }
    for _ in range(ATTEMPTS):
        last = _in("admin", "a-guess-of-admin-s-0")
    seen["guessed"] = last
    seen["locked"] = _in("admin", OWN)
    rights_of_locked = _becomes(box, "admin", OWN)
    run("/usr/sbin/faillock", "--dir", WEB_TALLY, "--user", "admin", "--reset")
    seen["let in again"] = _in("admin", OWN)
    # three prompts each
    for _ in range(ATTEMPTS // 3 + 1):
        _becomes(box, "admin", "a-guess-of-admin-s-0")
    rights_of_guessed = _becomes(box, "admin", OWN)
    seen["guessed at sudo"] = _in("admin", OWN)
    run("/usr/sbin/faillock", "--user", "admin", "--reset")
    sign_ins = {name: asdict(attempt) for name, attempt in seen.items()}
    rights = {user: _becomes(box, user, password) for user, password in (("admin", OWN), ("vera", VERA))}
    rights["admin with another's password"] = _becomes(box, "admin", VERA)
    rights |= {"admin locked out of the web console": rights_of_locked, "admin guessed at sudo": rights_of_guessed}
    reads = {user: _reads(box, user) for user in ("vera", "noel")}
    print(
        json.dumps(
            {
                "reads shares": reads,
                "sign-ins": sign_ins,
                "smb": [before, run(*smb).split(":")[3]],
                "root's rights": rights,
            }
        )
    )


def _in(user: str, password: str, *answers: str) -> SignIn:
    return sign_in(PORT, user, password, answers, tls=False)


def _reads(root: Path, user: str) -> bool:
    """Whether a program that a user starts reads in shares, as the browser of a console user can have one started."""
    as_user = ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "cat", "/srv/pool/data/weights"]
    return subprocess.run(["chroot", root, *as_user], capture_output=True, check=False).returncode == 0


def _becomes(root: Path, user: str, password: str) -> str:
    """The number of the user that sudo makes of somebody, as Cockpit's bridge asks it; empty where it refuses."""
    asked = ["chroot", str(root), "runuser", "-u", user, "--", "sudo", "-k", "-S", "-p", "", "id", "-u"]
    done = subprocess.run(asked, input=f"{password}\n" * 3, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
