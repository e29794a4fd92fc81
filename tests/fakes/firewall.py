# SPDX-License-Identifier: Apache-2.0
"""The firewall of the image, as nft prints it: the lines of its file, with elements in a listing of their own."""

from pathlib import Path

from host.layout import REPO

TEXT = (REPO / "mkosi.extra/etc/nftables.conf").read_text()
RULES = "nft --stateless --terse list ruleset"
SETS = "nft list set inet millrace"
PRINTED = {RULES: TEXT, SETS: TEXT}


def load(root: Path) -> None:
    """The file that is loaded at boot."""
    (root / "etc").mkdir(parents=True, exist_ok=True)
    (root / "etc/nftables.conf").write_text(TEXT)
