# SPDX-License-Identifier: Apache-2.0
"""What a page refuses where it is typed, the command line refuses too, in the same sentence.

vitest asks the same table of cockpit-plugin/src/pages/shares/rules.ts.
"""

import json
from collections.abc import Callable

import pytest

from host.layout import REPO
from millrace.share import options
from millrace.system import names
from millrace.user.password import checked_password

TABLE = json.loads((REPO / "cockpit-plugin/test/golden/rules.json").read_text())
RULES: dict[str, Callable[[str], object]] = {
    "share_name": names.share_name,
    "account_name": names.account_name,
    "comment": names.comment,
    "network": names.network,
    "client": names.client,
    "size": options.size,
    "password": checked_password,
}


def sentence(rule: str, text: str) -> str | None:
    try:
        RULES[rule](text)
    except Exception as error:
        return str(error)
    return None


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_says_what_the_table_says(rule: str) -> None:
    assert [[text, sentence(rule, text)] for text, _ in TABLE[rule]] == TABLE[rule]


def test_the_table_has_good_and_bad_input_for_every_rule() -> None:
    assert set(TABLE) == set(RULES)
    assert all({said is None for _, said in cases} == {True, False} for cases in TABLE.values())
