# SPDX-License-Identifier: Apache-2.0
"""The table of the keys in docs/policy.md, made from the model: `python -m tests.unit.plan.table_of_policy`."""

from host.layout import REPO
from millrace.plan.policy.keys import described, words
from millrace.plan.policy.model import Policy

PAGE = REPO / "docs/policy.md"
HEADING = "| key | meaning | takes | default | takes effect |"
MORE = {
    "nfs.copy_from": "[Copies between servers](copy.md)",
    "smb_direct.ports": "[SMB Direct](smb-direct.md)",
    "layout.backend": "[External backends](external.md)",
    "nfsd.localio": "[LOCALIO](modules.md#localio)",
    "md.direct_degraded_reads": "[Reads while a drive is missing](modules.md#reads-while-a-drive-is-missing)",
    "journal.forward": "[Security](security.md#forwarding)",
    "scrub.rate_kib": "[Scrub](scrub.md#scrub)",
}
"""The page of the manual that says more about a key."""


def table() -> str:
    """Return one row for each key, in Markdown."""
    lines = [HEADING, "|---" * (HEADING.count("|") - 1) + "|"]
    for one in described(Policy()):
        meaning = one.meaning + (f", see {MORE[one.key]}" if one.key in MORE else "")
        lines.append(f"| `{one.key}` | {meaning} | {one.range} | {words(one.default) or ''} | {one.when} |")
    return "\n".join(lines) + "\n"


def rows(page: str) -> list[str]:
    """Return the lines of the table in a page."""
    _, _, rest = page.partition(HEADING)
    return [HEADING, *(line for line in rest.split("\n\n")[0].splitlines() if line)]


def main() -> None:
    """Write the table into the page, in the place of the present one."""
    text = PAGE.read_text()
    PAGE.write_text(text.replace("\n".join(rows(text)), table().rstrip()))


if __name__ == "__main__":
    main()
