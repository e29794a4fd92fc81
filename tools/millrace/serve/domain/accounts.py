# SPDX-License-Identifier: Apache-2.0
"""Users and groups of the domain that a share names: whether they exist."""

from collections.abc import Sequence

from millrace.serve.config.domain_names import in_domain
from millrace.system.errors import Refused
from millrace.system.run import Runner, last_words

_USER, _GROUPS = {"SID_USER"}, {"SID_DOM_GROUP", "SID_ALIAS", "SID_WKN_GROUP"}


def refuse_unknown(users: Sequence[str], groups: Sequence[str], run: Runner) -> None:
    """Verify that the domain knows each name. Refused: it knows one not, or as something else."""
    _check(users, "user", _USER, run)
    _check(groups, "group", _GROUPS, run)


def _check(names: Sequence[str], what: str, kinds: set[str], run: Runner) -> None:
    for name in filter(in_domain, names):
        result = run(["wbinfo", "--name-to-sid", name])
        if result.status != 0:
            asked = run(["wbinfo", "--ping-dc"])
            if asked.status != 0:
                raise Refused(f"the domain lookup of {name} failed: {last_words(asked)}; see millrace domain show")
            raise Refused(f"the domain has no {what} {name}")
        kind = result.out.split()[1] if len(result.out.split()) > 1 else ""
        if kind not in kinds:
            raise Refused(f"{name} is not a {what} of the domain")
