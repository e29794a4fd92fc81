# SPDX-License-Identifier: Apache-2.0
"""Targets of backups: what is accepted, and what each refusal says."""

import pytest
from pydantic import ValidationError

from millrace.protect.backup.backup_model import Backup
from millrace.protect.backup.backup_target import parse, repository, words


@pytest.mark.parametrize(
    ("text", "user", "shown", "restic"),
    [
        (
            "sftp://far@backup.example.com/srv/data/",
            None,
            "sftp://far@backup.example.com:22/srv/data",
            "sftp://far@backup.example.com:22//srv/data",
        ),
        ("s3:https://s3.example.com/bucket/data", "AKIA1", *["s3:https://s3.example.com:443/bucket/data"] * 2),
        (
            "rest:https://[fd00::1]:8000/data",
            "ann",
            "rest:https://[fd00::1]:8000/data",
            "rest:https://ann:s%3A%2F@[fd00::1]:8000/data/",
        ),
        ("rest:http://10.0.0.1/", None, "rest:http://10.0.0.1:8000/", "rest:http://10.0.0.1:8000/"),
    ],
)
def test_target_is_shown_without_its_secret(text: str, user: str | None, shown: str, restic: str) -> None:
    target = parse(text, user)
    assert (words(target), repository(target, "s:/")) == (shown, restic)


@pytest.mark.parametrize(
    ("text", "user", "why"),
    [
        ("/srv/backup", None, "is not the target of a backup"),
        ("rest:https://ann:secret@host/data", None, "no user and no password in it"),
        ("s3:https://host/bucket", None, "needs the ID of a key"),
        ("s3:http://host/bucket", "key", "S3 without TLS"),
        ("s3:https://host/", "key", "names no bucket"),
        ("rest:http://host/data", "ann", "a password is not sent unencrypted"),
        ("sftp://far@host/", None, "names no directory"),
        ("sftp://far@-oProxyCommand=x/data", None, "is not"),
        ("sftp://far@host/../etc", None, "is not"),
        ("sftp://far@host/data", "ann", "is a part of the target"),
        ("rest:https://host:99999/data", None, "99999 is no port"),
    ],
)
def test_target_that_is_none_is_refused(text: str, user: str | None, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(text, user)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "../../" + "0" * 26),
        ("name", "../x"),
        ("share", "/etc"),
        ("host", "-oProxyCommand=x"),
        ("host", "fe80::1%x -oProxyCommand=x"),
        ("user", "-oProxyCommand=x"),
        ("user", "ann x"),
        ("path", "/srv/../etc"),
        ("port", 0),
    ],
)
def test_decision_that_came_with_adopted_drives_is_verified(key: str, value: object) -> None:
    target = parse("sftp://far@backup.example.com/srv/data").model_dump()
    known = {"name": "offsite", "id": "0" * 32, "share": "data", "target": target}
    assert Backup.model_validate(known).target.host == "backup.example.com"
    wrong = {**known, key: value} if key in known else {**known, "target": {**target, key: value}}
    with pytest.raises(ValidationError):
        Backup.model_validate(wrong)
