# SPDX-License-Identifier: Apache-2.0
"""Who opened and changed what, from the lines of vfs_full_audit in the journal."""

import json

import pytest
from click.testing import CliRunner

from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.share import desired, log_verbs
from millrace.serve.share.access_log import access_log, loss, losses
from millrace.serve.share.model import Share
from millrace.serve.share.smb_parameters import parameters
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.samples import Tools, pool, resolved

# without _GID each account that has a shell writes lines of the log
MATCHES = "SYSLOG_IDENTIFIER=smbd_audit _GID=0"
ARGV = f"journalctl --quiet --no-pager --output=json --all --lines=20000 --output-fields=MESSAGE {MATCHES}"
DROPPED = "journalctl --quiet --no-pager --output=json --output-fields=MESSAGE"
AT = "1795971712000000"
# As Samba 4.25.1 wrote them; each line begins with user, address and share.
LINES = (
    "create_file|ok|0x12019f|file|overwrite_if|/srv/pool/lab/plan.txt",
    "renameat|ok|/srv/pool/lab/.::TMPNAME:D:18049%25:1830a975|/srv/pool/lab/dir",
    "create_file|ok|0x80|dir|create|/srv/pool/lab/dir",
    "create_file|ok|0x81|dir|open|/srv/pool/lab",
    "create_file|ok|0x120089|file|open|/srv/pool/lab/plan.txt",
    "create_file|ok|0x80|file|open|/srv/pool/lab/plan.txt",
    "create_file|ok|0x12019f|file|open|/srv/pool/lab/plan.txt",
    "renameat|ok|/srv/pool/lab/plan.txt|/srv/pool/lab/dir/old.txt",
    "fset_nt_acl|ok|/srv/pool/lab/dir/old.txt []",
    "unlinkat|ok|/srv/pool/lab/dir/old.txt",
)


def share(audit: bool = True) -> Share:
    smb = {"users": ["admin"], "audit": audit}
    wanted = DesiredShare.model_validate({"name": "lab", "project": 1001, "type": "mixed", "smb": smb})
    return resolved(Config(shares=[wanted]))["lab"]


NOTHING = Result(0, "", "")


def lines(*messages: object) -> Result:
    text = "".join(json.dumps({"__REALTIME_TIMESTAMP": AT, "MESSAGE": message}) + "\n" for message in messages)
    return Result(0, text, "")


def journal(*messages: object, dropped: Result = NOTHING) -> Tools:
    return Tools({ARGV: lines(*messages), DROPPED: dropped})


def test_lines_of_samba_are_entries_without_those_that_neither_read_nor_change() -> None:
    log = access_log(share(), 100, journal(*(f"lena|10.0.0.5|lab|{line}" for line in LINES)))
    assert [(entry.action, entry.path, entry.target) for entry in log.entries] == [
        ("created", "plan.txt", None),
        ("created", "dir", None),
        ("read", "plan.txt", None),
        ("opened to write", "plan.txt", None),
        ("renamed", "plan.txt", "dir/old.txt"),
        ("permissions changed", "dir/old.txt", None),
        ("deleted", "dir/old.txt", None),
    ]
    assert {(entry.user, entry.host) for entry in log.entries} == {("lena", "10.0.0.5")} and log.audit
    assert log.entries[0].at == "2026-11-29T17:01:52.000+00:00"


def test_lines_of_other_shares_and_broken_ones_are_left_out() -> None:
    good = "lena|10.0.0.5|lab|unlinkat|ok|/srv/pool/lab/a"
    lines = [good.replace("|lab|", "|other|"), "noise", [108, 255], "a|b|lab|create_file|ok|zz|file|open|/x", good]
    assert [entry.path for entry in access_log(share(), 100, journal(*lines)).entries] == ["a"]
    assert len(access_log(share(), 2, journal(good, good, good)).entries) == 2


def test_no_name_of_a_client_keeps_a_line_out() -> None:
    lines: list[object] = [
        f"lena|10.0.0.5|lab|{line}"
        for line in (
            "create_file|ok|0x120089|file|open|/srv/pool/lab/a|b",
            "renameat|ok|/srv/pool/lab/a|b|/srv/pool/lab/c",
            "unlinkat|ok|/srv/pool/lab/a|b",
        )
    ]
    lines.append([*b"lena|10.0.0.5|lab|unlinkat|ok|/srv/pool/lab/\x1b\xff"])
    log = access_log(share(), 100, journal(*lines))
    assert [(entry.action, entry.path) for entry in log.entries] == [
        ("read", "a|b"),
        ("renamed", "a|b|/srv/pool/lab/c"),
        ("deleted", "a|b"),
        ("deleted", "\x1b\ufffd"),
    ]


def test_lines_that_journald_dropped_are_counted_and_named_since_the_first_entry() -> None:
    dropped = lines("Suppressed 900 messages from smbd.service", "Suppressed 7 messages from ssh.service", "noise", 3)
    tools = journal(*[f"lena|10.0.0.5|lab|{line}" for line in LINES], dropped=dropped)
    log = access_log(share(), 100, tools)
    assert [(each.at, each.lines) for each in log.lost] == [("2026-11-29T17:01:52.000+00:00", 900)]
    assert f"--since=@{int(AT) // 10**6}" in tools.calls[-1]
    # a user who signs in cannot write this: journald alone has that transport
    assert "_TRANSPORT=driver" in tools.calls[-1]
    sentence = loss(log)
    assert sentence and sentence.startswith("Accesses are missing: 900 lines of the SMB server were dropped until ")


def test_log_without_a_loss_says_nothing_of_one_and_a_share_without_a_log_asks_for_none() -> None:
    assert loss(access_log(share(), 1, journal())) is None
    tools = journal()
    assert access_log(share(audit=False), 1, tools).lost == [] and len(tools.calls) == 1


def test_losses_that_cannot_be_read_are_an_error() -> None:
    with pytest.raises(Failed, match="journalctl does not list what was dropped: no access"):
        losses(Tools({DROPPED: Result(1, "", "no access\n")}))


def test_accesses_have_the_priority_that_no_other_line_of_smbd_has() -> None:
    # journald limits each group of priorities by itself: sign-ins are notices
    assert parameters(share())["full_audit:priority"] == "debug"


def test_journal_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(Failed, match="journalctl does not list accesses: no access"):
        access_log(share(), 1, Tools({ARGV: Result(1, "", "no access\n")}))


def test_access_log_is_the_first_module_of_a_share_that_has_it() -> None:
    found = parameters(share())
    assert found["vfs objects"].split()[0] == "full_audit"
    assert found["full_audit:success"].split()[0] == "create_file" and found["full_audit:prefix"] == "%u|%I|%S"
    assert "full_audit" not in "".join([*parameters(share(False)), *parameters(share(False)).values()])


def test_log_is_shown_as_a_table_and_says_where_it_is_off(monkeypatch: pytest.MonkeyPatch, root_user: object) -> None:
    monkeypatch.setattr("millrace.storage.record.pool_file.known_pool", pool)
    monkeypatch.setattr("millrace.system.run.quickly", journal(f"lena|10.0.0.5|lab|{LINES[7]}"))
    monkeypatch.setattr(desired, "shares", lambda pool: [share(audit=False)])
    said = CliRunner().invoke(log_verbs.log_, ["lab"], catch_exceptions=False).output
    assert "The access log is off: millrace share set lab --audit" in said
    assert "10.0.0.5" in said and "plan.txt -> dir/old.txt" in said
    with pytest.raises(Refused, match="share nowhere does not exist"):
        CliRunner().invoke(log_verbs.log_, ["nowhere"], catch_exceptions=False)
