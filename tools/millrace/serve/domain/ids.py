# SPDX-License-Identifier: Apache-2.0
"""Numbers of a domain's users and groups on this server. They own data: these ranges never change."""

from typing import Final

from millrace.system.documents import Contract


class IdRange(Contract):
    """Numbers of users and groups, both ends included."""

    first: int
    last: int


# Far above local accounts (serve/config/model.py: 2000 to 59999) and what systemd gives out below 65536.
FIRST: Final = 1_000_000

# A RID has 30 bits (MS-ADTS 3.1.1.1.9.1): every account that a domain can have gets FIRST + RID, on every server.
DOMAIN: Final = IdRange(first=FIRST, last=FIRST + (1 << 30) - 1)

# Windows' own groups (BUILTIN), given out as they come: they own nothing that counts.
OTHERS: Final = IdRange(first=900_000, last=FIRST - 1)
