# SPDX-License-Identifier: Apache-2.0
"""Where certificates and keys are, and how a certificate and its key change together.

authority.pem, authority.key   this server's own authority
successor.pem, successor.key   the next one, which clients are given beforehand; succession.json has its day
previous.pem, previous.key     the one before; it returns where a clock that was ahead replaced it
loopback.pem, loopback.key     shown when the server opens a share of its own to verify that it is served
trusted.pem                    authorities whose certificates an mtls client may show; the own one is the first
revoked.pem                    their revocation lists; that of the own one is the first, and empty
sources.pem                    what this server trusts as the client of the sources of its replicas, itself included
request.key                    the key of a request that is with an authority
settings.json                  further names
current -> sets/NAME           server.pem (chain), server.key, peer.pem (what is trusted then), certificate.json
"""

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from millrace.serve.certificate.model import CertificateSettings, Current, Succession
from millrace.system import locks, paths
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from millrace.system.files import replace_link, write_text

REVOKED = "revoked.pem"
SOURCES = "sources.pem"
CHAIN, KEY, PEER, ABOUT = "server.pem", "server.key", "peer.pem", "certificate.json"
PRIVATE, PUBLIC = 0o600, 0o644


def directory() -> Path:
    """The directory of this room's state."""
    return paths.state_dir() / "certificate"


def current() -> Path:
    """The set in use."""
    return directory() / "current"


def authority() -> tuple[Path, Path]:
    """Certificate and key of the server's own CA."""
    return directory() / "authority.pem", directory() / "authority.key"


def successor() -> tuple[Path, Path]:
    """Certificate and key of the CA that replaces the own one; they exist from half a year before."""
    return directory() / "successor.pem", directory() / "successor.key"


def previous() -> tuple[Path, Path]:
    """Certificate and key of the CA before this one, for the case that a wrong clock replaced it."""
    return directory() / "previous.pem", directory() / "previous.key"


def succession_file() -> Path:
    """The file with the day on which the successor takes over."""
    return directory() / "succession.json"


def find_succession() -> Succession | None:
    """Return when the next CA takes over; None where there is none yet."""
    path = succession_file()
    return read_model(path, Succession) if path.exists() else None


def own_authorities() -> str:
    """Return the own CA and its successor as PEM: clients that trust both keep working when it takes over."""
    pair = (authority()[0], successor()[0])
    return "".join(path.read_text() for path in pair if path.exists())


def loopback_pair() -> tuple[Path, Path]:
    """Certificate and key for the verification from the server itself."""
    return directory() / "loopback.pem", directory() / "loopback.key"


def trusted() -> Path:
    """The CAs that clients of mutual TLS are verified with."""
    return directory() / "trusted.pem"


def revoked() -> Path:
    """The revocation lists of the CAs that clients are verified with; GnuTLS refuses an empty file."""
    return directory() / REVOKED


def sources() -> Path:
    """The CAs that the sources of replicas are verified with, and what this server shows to itself."""
    return directory() / SOURCES


def request_key() -> Path:
    """The key of the last signing request, until its certificate is installed."""
    return directory() / "request.key"


def settings_file() -> Path:
    """The file of the additional names."""
    return directory() / "settings.json"


def settings() -> CertificateSettings:
    """Return the additional names; none where none were given."""
    return read_model(settings_file(), CertificateSettings) if settings_file().exists() else CertificateSettings()


def find_current() -> Current | None:
    """Return the certificate in use; None before the first one."""
    path = current() / ABOUT
    return read_model(path, Current) if path.exists() else None


def require_current() -> Current:
    """Return the certificate in use. Refused: there is none yet."""
    found = find_current()
    if found is None:
        raise Refused("no certificate yet: create it with systemctl start millrace-certificate.service")
    return found


def certificate_lock() -> AbstractContextManager[None]:
    """Hold the lock of a change: the timer, a new address and an administrator may meet.

    Refused: the caller is not root.
    """
    return locks.held(directory() / ".lock")


def activate(texts: Mapping[str, str]) -> None:
    """Replace the complete set in use: a certificate is never used with the key of another.

    `texts` are the contents of its files, by name.
    """
    sets = directory() / "sets"
    sets.mkdir(parents=True, exist_ok=True)
    # Whatever the umask: a certificate is public.
    sets.chmod(0o755)
    made = Path(tempfile.mkdtemp(prefix="set-", dir=sets))
    made.chmod(0o755)
    for name, text in texts.items():
        write_text(made / name, text, mode=PRIVATE if name == KEY else PUBLIC)
    replace_link(current(), str(made.relative_to(directory())))
    for old in sets.iterdir():
        if old != made:
            shutil.rmtree(old, ignore_errors=True)
