# SPDX-License-Identifier: Apache-2.0
"""Does the web console show its login page, with the certificate of this server?"""

from datetime import timedelta

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.serve.certificate import cockpit, files, pem
from millrace.system import ages

NAME = "cockpit"
SETTLED = timedelta(minutes=1)
"""After a change of the certificate the web console may show the one before."""
_RESTART = "systemctl restart cockpit.service"


def check(host: Host) -> list[HealthFinding]:
    """Check the web console as a browser does, with or without a pool."""
    state = host.active_state("cockpit.socket")
    if state != "active":
        return [host.absent(NAME, f"The socket of Cockpit is {state}.", "systemctl restart cockpit.socket")]
    # systemd holds the socket: that it is active says nothing of what is behind it
    reply = host.probes.web("127.0.0.1")
    if reply.problem is not None:
        sentence = f"The web console does not respond on port 9090: {reply.problem}."
        return [host.absent(NAME, sentence, f"{_RESTART}; if it stays like this: journalctl -u 'cockpit*'")]
    if _is_other(reply.certificate):
        sentence = "The web console shows another certificate than that of this server."
        return [HealthFinding(check=NAME, kind="certificate", level=Level.WARN, sentence=sentence, todo=_RESTART)]
    return [HealthFinding(check=NAME, level=Level.OK, sentence="The web console shows its login page on port 9090.")]


def _is_other(shown: bytes) -> bool:
    """Whether an earlier certificate is shown; one of an administrator's own is a finding of another check."""
    chain = files.current() / files.CHAIN
    if not shown or cockpit.in_the_way() or not chain.exists():
        return False
    # the console is restarted seconds after a change
    if ages.is_recent(files.current().lstat().st_mtime, SETTLED):
        return False
    return shown != pem.first_der(chain.read_text())
