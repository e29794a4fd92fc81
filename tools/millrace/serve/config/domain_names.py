# SPDX-License-Identifier: Apache-2.0
"""Names of an Active Directory domain. Each refusal is one sentence; what passes is safe in smb.conf and krb5.conf."""

from millrace.system.names import LABEL, account_name
from millrace.system.rule import Check, Rule

SEPARATOR = "\\"

_NETBIOS = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,13}[A-Za-z0-9])?"
# What Windows takes in a name of a user or group (Domänen-Benutzer, too), without what Samba would expand or split at.
_NAME = r"[\w](?:[\w .'&()-]{0,254}[\w)])?"


def _smb_account(text: str) -> str:
    domain, separator, name = text.rpartition(SEPARATOR)
    return f"{domain.upper()}{separator}{name.lower()}"


realm = Rule(
    Check(
        rf"(?=.{{1,253}}\.?$){LABEL}(?:\.{LABEL})+\.?",
        "$0 is not the name of a domain: write its DNS name, like ad.example.com",
    ),
    then=lambda text: text.upper().removesuffix("."),
)
netbios_name = Rule(
    Check(_NETBIOS, "$0 cannot be a name in a domain: use 1 to 15 of a-z, 0-9 and -"),
    then=str.upper,
)
# A local account, or DOMAIN\\name with the domain in capitals and the name small.
smb_account = Rule(
    Check(rf".*\\.*|{account_name.checks[0].pattern}", account_name.checks[0].sentence),
    Check(rf"[^\\]*|[^\\]*\\{_NAME}", "$0 cannot be a user or group of a domain: write it like EXAMPLE\\anna"),
    Check(rf"[^\\]*|{_NETBIOS}\\.*", netbios_name.checks[0].sentence),
    then=_smb_account,
)
# The account that may join machines, as it stands in its Kerberos principal.
joining_account = Rule(
    Check(r"[\w][\w.$-]{0,103}", "$0 is not an account of the domain: write its name alone, like Administrator")
)
# Where machine accounts go, from the top down (`Servers/Storage`).
organisational_unit = Rule(
    Check(
        r"[\w .-]{1,64}(?:/[\w .-]{1,64}){0,9}",
        "$0 is not an organisational unit: write it from the top down, Servers/Storage",
    )
)


def in_domain(name: str) -> bool:
    """Whether the name of a user or group is of a domain, not of this server."""
    return SEPARATOR in name
