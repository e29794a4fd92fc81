# SPDX-License-Identifier: Apache-2.0
"""The endpoint is off until an administrator turns it on, for readers with a token or at certain addresses."""

import hashlib
import secrets
from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path

from millrace.observe.metrics.model import MetricsEndpoint, MetricsSettings, TokenHash
from millrace.serve.config.store import config_lock
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput
from millrace.system.rule import Check, Rule
from millrace.system.run import Runner, must

PORT = 19100
UNIT, PORT_UNIT = "millrace-metrics.service", "millrace-firewall@metrics.service"
COLLECT = "millrace-metrics-collect.service"
NODE_EXPORTER = ("millrace-node-exporter.socket", "millrace-node-exporter.service")
MOST_ADDRESSES = 64
# Of a token that an administrator chooses. It is kept as a plain hash, so it must be too long to be guessed.
SHORTEST, LONGEST = 24, 200


def settings_file() -> Path:
    """The settings; the endpoint is on where this file is."""
    return paths.metrics_dir() / "endpoint.json"


def token_file() -> Path:
    """The hash of the token, for root and the service alone."""
    return paths.metrics_dir() / "token.json"


def turn_on(addresses: Sequence[str], token: str | None, run: Runner, new_token: bool = False) -> MetricsEndpoint:
    """Turn the endpoint on, or change who may read.

    A token is made where neither it nor an address is given, and for `new_token` where it is not given.
    BadInput: an address or the token is not valid. Refused: the caller is not root. Failed: systemd does not start it.
    """
    try:
        networks = list(dict.fromkeys(reader(address) for address in addresses))
    except ValueError as error:
        raise BadInput(str(error)) from error
    if len(networks) > MOST_ADDRESSES:
        raise BadInput(f"at most {MOST_ADDRESSES} addresses may read the metrics: use networks such as 10.1.0.0/24")
    if token is not None:
        _refuse_weak(token)
    new = secrets.token_urlsafe(32) if token is None and (new_token or not networks) else None
    used = token or new
    with config_lock():
        # The hash first: the settings never ask for a token that is not there.
        write_model(token_file(), TokenHash(sha256=digest(used) if used else None), 0o600)
        write_model(settings_file(), MetricsSettings(addresses=networks, token=used is not None))
        must(run, ["systemctl", "restart", UNIT])
        # The first reader finds something.
        must(run, ["systemctl", "start", COLLECT])
    return status().model_copy(update={"new_token": new})


def turn_off(run: Runner) -> MetricsEndpoint:
    """Turn the endpoint off and forget its token. Refused: the caller is not root. Failed: systemd does not stop it."""
    with config_lock():
        settings_file().unlink(missing_ok=True)
        token_file().unlink(missing_ok=True)
        # all by name: systemctl waits for what it names, not for what systemd stops with it
        must(run, ["systemctl", "stop", UNIT, PORT_UNIT, *NODE_EXPORTER])
        paths.metrics_file().unlink(missing_ok=True)
    return status()


def status() -> MetricsEndpoint:
    """Return whether the endpoint is on and who may read. BadInput: its settings cannot be read."""
    found = read_model(settings_file(), MetricsSettings) if settings_file().exists() else None
    return MetricsEndpoint(
        enabled=found is not None,
        port=PORT,
        addresses=found.addresses if found else [],
        token=found.token if found else False,
    )


def digest(token: str) -> str:
    """Return the hash by which a token is kept and compared."""
    return hashlib.sha256(token.encode()).hexdigest()


def _refuse_weak(token: str) -> None:
    if not SHORTEST <= len(token) <= LONGEST or not token.isascii() or not token.isprintable() or " " in token:
        raise BadInput(
            f"a token has {SHORTEST} to {LONGEST} printable ASCII characters without blanks; "
            "without --token-stdin one is made"
        )


def _network(text: str) -> str:
    try:
        found = ip_network(text)
    except ValueError as error:
        raise ValueError(_READER.sentence_for(text)) from error
    if not found.prefixlen:
        raise ValueError(f"{found} is every address: leave out --from and use a token")
    return str(found)


_READER = Check(
    "[0-9.]+(?:/[0-9.]+)?|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:/[0-9]+)?",
    "$0 is not an address or a network: write it like 10.1.0.9 or 10.1.0.0/24",
)
# An address or a network that may read; its normal form is CIDR.
reader = Rule(_READER, then=_network)
