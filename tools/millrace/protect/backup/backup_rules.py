# SPDX-License-Identifier: Apache-2.0
"""What may be in the decision of a backup: paths, arguments of ssh and files for restic are made of it.

The file of the decisions may come from drives that were adopted, so the model checks it, too.
"""

from ipaddress import ip_address

from millrace.system.names import host_name
from millrace.system.rule import Check, Rule

backup_name = Rule(
    Check(
        "[a-z0-9][a-z0-9-]{0,31}",
        "$0 cannot be the name of a backup: use 1 to 32 of a-z, 0-9 and -, first a letter or a digit",
    )
)
user_name = Rule(
    Check("[A-Za-z0-9_][A-Za-z0-9._@+/=-]{0,127}", "$0 cannot be the name of a user or the ID of a key of a target")
)
# no dot at the beginning of a part, so no "..": nothing of it is quoted anywhere
PATH = "(?:[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?)?"
target_path = Rule(Check(f"/?{PATH}", "$0 cannot be the directory or the bucket of a target"))
backup_id = Rule(Check("[0-9a-f]{32}", "$0 is not the ID of a backup"))


def target_host(text: str) -> str:
    """Return the host of a target: a name, or an address of IPv6 without a zone. ValueError: it is none."""
    if ":" in text and "%" not in text:
        return str(ip_address(text))
    return host_name(text)
