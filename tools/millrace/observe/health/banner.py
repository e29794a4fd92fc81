# SPDX-License-Identifier: Apache-2.0
"""The console banner above the login prompt: name, addresses, health, next step."""

from collections.abc import Sequence

from millrace.observe.health.model import Health, Level
from millrace.system import paths
from millrace.system.files import write_text
from millrace.system.net import Address, Interface
from millrace.system.printing import padded
from millrace.system.run import attempt

BANNER = "run/issue.d/50-millrace.issue"
LEVEL = max(map(len, Level))

_WORDS = {
    Level.OK: "no problem found",
    Level.WARN: "warnings found",
    Level.UNKNOWN: "some checks have no result",
    Level.FAIL: "failures found",
}


def banner(version: str, interfaces: Sequence[Interface], health: Health) -> str:
    """Return the text of the banner, with agetty's escapes escaped."""
    verdict = f"Health: {health.level}, {_WORDS[health.level]}"
    lines = ["", f"Millrace {version}", "", *_addresses(interfaces), "", verdict]
    for finding in health.findings:
        if finding.level is not Level.OK:
            lines += [f"  {padded(finding.level, LEVEL)} {finding.sentence}"]
            lines += [f"  {padded('', LEVEL)} {finding.todo}"] if finding.todo else []
    return "\n".join(lines).replace("\\", "\\\\") + "\n\n"


def _addresses(interfaces: Sequence[Interface]) -> list[str]:
    urls = [(url(address), interface.name) for interface in interfaces for address in interface.addresses]
    if not urls:
        return ["No port of this server has an address yet: plug in a network cable, or set one up."]
    width = max(len(url) for url, _ in urls)
    return [f"  {padded(url, width)}  ({name})" for url, name in urls]


def url(address: Address) -> str:
    """Return the URL of the web console on an address."""
    return f"https://[{address.ip}]:9090" if address.version == 6 else f"https://{address.ip}:9090"


def write_banner(text: str) -> bool:
    """Write the banner; return whether it changed."""
    return write_text(paths.ROOT / BANNER, text)


def refresh_consoles() -> None:
    """Let agetty draw every login prompt again that has no input yet."""
    attempt(["agetty", "--reload"], timeout=20)
