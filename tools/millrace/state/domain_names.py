# SPDX-License-Identifier: Apache-2.0
"""Names of an Active Directory domain. Each refusal is one sentence; what passes is safe in smb.conf and krb5.conf."""

import re

from millrace.system.names import account_name, shown

SEPARATOR = "\\"

_LABEL = "[A-Z0-9]([A-Z0-9-]{0,61}[A-Z0-9])?"
_REALM = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})+")
_NETBIOS = re.compile("[A-Z0-9]([A-Z0-9-]{0,13}[A-Z0-9])?")
# What Windows takes in a name of a user or group (Domänen-Benutzer, too), without what Samba would expand or split at.
_NAME = re.compile(r"\w([\w .'&()-]{0,254}[\w)])?")
_ACCOUNT = re.compile(r"\w[\w.$-]{0,103}")
_UNIT = re.compile(r"[\w .-]{1,64}(/[\w .-]{1,64}){0,9}")


def realm(text: str) -> str:
    """The realm in capitals, or ValueError."""
    found = text.upper().removesuffix(".")
    if not _REALM.fullmatch(found):
        raise ValueError(f"{shown(text)} is not the name of a domain: write its DNS name, like ad.example.com")
    return found


def netbios_name(text: str) -> str:
    """A NetBIOS name in capitals, or ValueError."""
    found = text.upper()
    if not _NETBIOS.fullmatch(found):
        raise ValueError(f"{shown(text)} cannot be a name in a domain: use 1 to 15 of a-z, 0-9 and -")
    return found


def in_domain(name: str) -> bool:
    """Whether the name of a user or group is of a domain, not of this server."""
    return SEPARATOR in name


def smb_account(text: str) -> str:
    """The name of a local account, or DOMAIN\\name with the domain in capitals and the name small; or ValueError."""
    if not in_domain(text):
        return account_name(text)
    domain, _, name = text.partition(SEPARATOR)
    if not _NAME.fullmatch(name):
        raise ValueError(f"{shown(text)} cannot be a user or group of a domain: write it like EXAMPLE\\anna")
    return f"{netbios_name(domain)}{SEPARATOR}{name.lower()}"


def joining_account(text: str) -> str:
    """The account that may join machines, as it stands in its Kerberos principal; or ValueError."""
    if not _ACCOUNT.fullmatch(text):
        raise ValueError(f"{shown(text)} is not an account of the domain: write its name alone, like Administrator")
    return text


def organisational_unit(text: str) -> str:
    """Where machine accounts go, from the top down (`Servers/Storage`), or ValueError."""
    if not _UNIT.fullmatch(text):
        raise ValueError(f"{shown(text)} is not an organisational unit: write it from the top down, Servers/Storage")
    return text
