# SPDX-License-Identifier: Apache-2.0
"""The parts of a route: its name, mail addresses, mail servers. Each refusal is one sentence."""

import re
from ipaddress import ip_address

from millrace.observe.alert.model import Security
from millrace.system.names import LABEL, host_name
from millrace.system.rule import Check, Rule
from millrace.system.text import shown

route_name = Rule(
    Check(
        "[a-z0-9][a-z0-9_-]{0,31}",
        "$0 cannot be the name of a route: use 1 to 32 of a-z, 0-9, - and _, first a letter or a digit",
    )
)
mail_address = Rule(
    Check(
        # A local part that needs no quotes (RFC 5322, dot-atom): quotes and blanks would be read as something else.
        rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~.-]{{1,64}}@(?=.{{1,253}}$){LABEL}(?:\.{LABEL})*",
        "$0 is not a mail address: write it like storage@example.com",
    )
)
clock = Rule(Check("(?:[01][0-9]|2[0-3]):[0-5][0-9]", "$0 is not a time of day: write it like 08:00"))

PORTS = {Security.STARTTLS: 587, Security.TLS: 465, Security.NONE: 25}
SYSLOG_PORTS = {Security.TLS: 6514, Security.NONE: 514}

_SERVER = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")


def mail_server(text: str, security: Security) -> tuple[str, int]:
    """Return the host and the TCP port of `HOST[:PORT]`. ValueError: it is none.

    Without a port it is 587 for STARTTLS, 465 for TLS, 25 without encryption.
    """
    return _server(text, PORTS[security], "a mail server: write it like smtp.example.com:587")


def syslog_server(text: str, security: Security) -> tuple[str, int]:
    """Return the host and the TCP port of `HOST[:PORT]`. ValueError: it is none.

    Without a port it is 6514 for TLS (RFC 5425), 514 without encryption.
    """
    return _server(text, SYSLOG_PORTS[security], "a syslog receiver: write it like log.example.com:6514")


def _server(text: str, port: int, kind: str) -> tuple[str, int]:
    match = _SERVER.fullmatch(text)
    port = int((match and match["port"]) or port)
    if match is None or not 0 < port < 1 << 16:
        raise ValueError(f"{shown(text)} is not {kind}")
    if match["v6"] is not None:
        try:
            return str(ip_address(match["v6"])), port
        except ValueError as error:
            raise ValueError(f"{shown(text)} is not {kind}") from error
    return host_name(match["host"]), port
