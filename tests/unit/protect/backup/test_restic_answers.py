# SPDX-License-Identifier: Apache-2.0
"""Lines of restic 0.19.1 and of ssh as they were recorded: one sentence for each."""

import json

import pytest

from millrace.protect.backup import restic_answers
from millrace.protect.backup.backup_model import Backup, BackupTarget
from millrace.protect.backup.restic_pattern import pattern
from millrace.system.run import Result

BACKUP = Backup(
    name="offsite", id="1" * 32, share="data", target=BackupTarget(protocol="rest", host="far", port=1, path="x")
)
HEAD = "Fatal: Fatal: create repository at rest:https://u:***@127.0.0.1:8765/x/ failed: "


def fatal(said: str, status: int = 1) -> Result:
    line = json.dumps({"message_type": "exit_error", "code": status, "message": said})
    return Result(status, f"signal terminated received, cleaning up \n{line}\n", "")


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (fatal("Fatal: wrong password or no key found", 12), "the password of backup offsite does not open"),
        (
            fatal("unable to create lock in backend: repository is already locked by PID 18066 on vm", 11),
            "is locked by",
        ),
        (fatal("Fatal: repository does not exist: unable to open config file", 10), "has no repository"),
        (fatal(f"{HEAD}unexpected HTTP response (401): 401 Unauthorized"), "does not accept the user or the secret"),
        (fatal(f"{HEAD}tls: failed to verify certificate: x509: certificate signed by unknown authority"), "--ca"),
        (fatal(f"{HEAD}config file already exists"), "has a repository already"),
        (fatal("dial tcp 127.0.0.1:8766: connect: connection refused"), "cannot be reached"),
        (fatal("dial tcp: lookup far: no such host"), "cannot be resolved"),
        (fatal("unexpected HTTP response (507): 507 Insufficient Storage"), "is full"),
        (fatal("Remove(<snapshot/5f5c525064>) failed: unexpected HTTP response (403): 403 Forbidden"), "refuses it"),
        (fatal("Fatal: repository contains errors"), "is damaged: millrace backup check offsite"),
        (Result(1, "subprocess ssh: Host key verification failed.\n", ""), "is not the one that was pinned"),
        (Result(1, "far@far: Permission denied (publickey).\n", ""), "does not accept the SSH key"),
        (fatal("Fatal: There were 1 errors", 3), "some files of the snapshot cannot be read"),
        (Result(127, "", "systemd-run is not installed"), "restic is not installed"),
        (fatal("something else", 7), "restic failed with status 7"),
    ],
)
def test_failure_is_one_sentence_with_what_to_do(result: Result, sentence: str) -> None:
    said = restic_answers.sentence(result, BACKUP)
    assert sentence in said and "\n" not in said


def test_progress_of_a_status_line_is_no_summary() -> None:
    status = '{"message_type":"status","percent_done":0.99,"total_bytes":3000141,"bytes_done":3000002}'
    summary = '{"message_type":"summary","files_new":51,"data_added_packed":3007411,"snapshot_id":"ab"}'
    assert restic_answers.summary(status) is None
    found = restic_answers.summary(f"{status}\n{summary}\n")
    assert found is not None and (found.files_new, found.data_added_packed, found.snapshot_id) == (51, 3007411, "ab")


def test_name_with_signs_of_a_pattern_matches_itself() -> None:
    assert pattern(("a[1]*", "$HOME", " x\n", "é")) == "/a?1??/?HOME/?x?/é"
    assert pattern((b"\xff.txt".decode(errors="surrogateescape"),), "/top") == "/top/?.txt"
