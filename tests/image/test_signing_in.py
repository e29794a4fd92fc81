# SPDX-License-Identifier: Apache-2.0
"""People sign in to the web console of the image, with the passwords and the PAM of the image."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from host.layout import REPO
from tests.image.served import NAMESPACES


@pytest.fixture(scope="module")
def seen(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    scratch = tmp_path_factory.mktemp("console")
    program = [sys.executable, "-m", "tests.image.signing_in", str(tree), str(scratch)]
    environment = os.environ | {"PYTHONPATH": f"{REPO / 'tools'}:{REPO}"}
    done = subprocess.run(
        [*NAMESPACES, *program], cwd=REPO, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def sign_ins(seen: dict[str, Any]) -> dict[str, Any]:
    return dict(seen["sign-ins"])


def test_root_is_refused_with_the_right_password(sign_ins: dict[str, Any]) -> None:
    assert (sign_ins["root"]["status"], sign_ins["root"]["cookie"]) == (403, None)


def test_the_one_time_password_opens_nothing_until_it_is_changed(sign_ins: dict[str, Any]) -> None:
    assert (sign_ins["asked"]["status"], sign_ins["asked"]["cookie"]) == (401, None)
    assert sign_ins["asked"]["prompts"] == ["New password: "]


def test_the_first_sign_in_asks_for_the_new_password_only_and_opens_the_console(sign_ins: dict[str, Any]) -> None:
    changed = sign_ins["changed"]
    assert changed["prompts"] == ["New password: ", "Retype new password: "]
    assert changed["status"] == 200 and changed["cookie"] and changed["body"]["csrf-token"]
    assert sign_ins["with the old one"]["status"] == 401
    assert sign_ins["with one's own"]["status"] == 200


def test_a_weak_password_is_not_taken_and_another_is_asked_for(sign_ins: dict[str, Any]) -> None:
    weak = sign_ins["changed to a weak one"]
    assert weak["status"] == 401 and weak["cookie"] is None
    assert weak["prompts"] == ["New password: ", "New password: "]


def test_a_user_who_failed_ten_times_is_locked_out(sign_ins: dict[str, Any]) -> None:
    assert sign_ins["guessed"]["status"] == sign_ins["locked"]["status"] == 401
    assert sign_ins["locked"]["cookie"] is None
    assert sign_ins["let in again"]["status"] == 200


def test_lock_out_of_the_web_console_leaves_sudo_and_the_other_way_round(seen: dict[str, Any]) -> None:
    assert seen["root's rights"]["admin locked out of the web console"] == "0"
    assert seen["root's rights"]["admin guessed at sudo"] == ""
    assert seen["sign-ins"]["guessed at sudo"]["status"] == 200


def test_smb_takes_the_new_password(seen: dict[str, Any]) -> None:
    before, after = seen["smb"]
    assert before != after and len(after) == len(before) == 32


def test_a_user_of_shares_gets_in_where_it_may_look(sign_ins: dict[str, Any]) -> None:
    assert sign_ins["who may look"]["status"] == 200
    assert sign_ins["who may not"]["status"] != 200 and sign_ins["who may not"]["cookie"] is None


def test_root_s_rights_cost_an_administrator_s_own_password(seen: dict[str, Any]) -> None:
    rights = seen["root's rights"]
    assert [rights[one] for one in ("admin", "admin with another's password", "vera")] == ["0", "", ""]


def test_a_user_who_may_look_does_not_look_into_shares(seen: dict[str, Any]) -> None:
    assert seen["reads shares"] == {"vera": False, "noel": True}
