# SPDX-License-Identifier: Apache-2.0
"""A code of an authenticator app counts once it was verified, and a clock that is off is named."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.serve.account import account_paths, second_factor
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, MillraceError, Refused

NOW = datetime(2026, 11, 29, 12, 0, 10, tzinfo=UTC)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    paths.run_dir().mkdir(parents=True)
    return tmp_path


def code(secret: str, off: timedelta = timedelta()) -> str:
    return second_factor.code_at(secret, int((NOW + off).timestamp()) // 30)


def test_codes_are_those_of_the_standard() -> None:
    # RFC 6238, appendix B: the secret is "12345678901234567890"; the last six digits
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    assert [second_factor.code_at(secret, at // 30) for at in (59, 1111111109, 20000000000)] == [
        "287082",
        "081804",
        "353130",
    ]


def test_nothing_is_in_force_before_one_code_is_verified() -> None:
    secret = second_factor.begin("bob")
    assert not second_factor.is_on("bob")
    with pytest.raises(Refused, match=r"^this code is wrong: .* the clock of this server shows 12:00:10 UTC$"):
        second_factor.confirm("bob", "000000" if code(secret) != "000000" else "000001", NOW)
    assert not second_factor.is_on("bob")
    assert len(second_factor.confirm("bob", code(secret), NOW)) == 8
    assert second_factor.is_on("bob")


def test_file_is_what_the_module_reads_and_only_root_does() -> None:
    secret = second_factor.begin("bob")
    codes = second_factor.confirm("bob", code(secret), NOW)
    path = account_paths.second_factor_dir() / "bob"
    lines = path.read_text().splitlines()
    assert lines[0] == secret and lines[-8:] == codes and all(line.startswith('" ') for line in lines[1:-8])
    # the code that was typed does not sign in
    assert f'" DISALLOW_REUSE {int(NOW.timestamp()) // 30}' in lines
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert second_factor.recovery_codes_left("bob") == 8
    assert not list(account_paths.enrolment_dir().iterdir())


@pytest.mark.parametrize(
    ("off", "words"), [(timedelta(minutes=5), "5 min ahead"), (timedelta(hours=-2), "120 min behind")]
)
def test_clock_that_is_off_is_named(off: timedelta, words: str) -> None:
    secret = second_factor.begin("bob")
    with pytest.raises(Refused, match=f"a clock that is {words}: the clock of this server shows 12:00:10 UTC"):
        second_factor.confirm("bob", code(secret, off), NOW)
    assert not second_factor.is_on("bob")


@pytest.mark.parametrize("typed", ["", "12345", "1234567", "abcdef", "\uff11\uff12\uff13\uff14\uff15\uff16"])
def test_text_that_is_no_code(typed: str) -> None:
    second_factor.begin("bob")
    with pytest.raises(BadInput, match="has 6 digits"):
        second_factor.confirm("bob", typed, NOW)


def test_code_of_a_step_away_counts() -> None:
    secret = second_factor.begin("bob")
    assert second_factor.confirm("bob", code(secret, timedelta(seconds=30)), NOW)


def test_confirmation_without_enrolment_is_refused() -> None:
    with pytest.raises(MillraceError, match="no secret waits for bob: millrace access second-factor enroll bob"):
        second_factor.confirm("bob", "123456", NOW)


def test_link_has_the_name_of_the_server() -> None:
    assert second_factor.uri("bob", "nas 1", "ABC") == (
        "otpauth://totp/nas%201:bob?secret=ABC&issuer=nas%201&digits=6&period=30"
    )


def wrong(secret: str) -> str:
    """A code that is none of these minutes."""
    near = {code(secret, timedelta(seconds=30 * step)) for step in range(-3, 4)}
    return next(text for text in ("000000", "000001", "000002") if text not in near)


def test_session_does_not_replace_a_second_factor() -> None:
    secret = second_factor.begin("bob")
    second_factor.confirm("bob", code(secret), NOW)
    before = (account_paths.second_factor_dir() / "bob").read_text()
    with pytest.raises(Refused, match="bob has a second factor already: millrace access second-factor remove bob"):
        second_factor.begin("bob")
    (account_paths.enrolment_dir() / "bob").write_text(secret)
    with pytest.raises(Refused, match="bob has a second factor already"):
        second_factor.confirm("bob", code(secret), NOW)
    assert (account_paths.second_factor_dir() / "bob").read_text() == before


def test_who_guesses_learns_no_code_of_a_later_time() -> None:
    secret = second_factor.begin("bob")
    second_factor.confirm("bob", code(secret), NOW)
    with pytest.raises(Refused, match=r"^this code is wrong"):
        second_factor.prove("bob", code(secret, timedelta(hours=1)), NOW)
    assert second_factor.is_on("bob")


def test_guesses_are_few() -> None:
    secret = second_factor.begin("bob")
    second_factor.confirm("bob", code(secret), NOW)
    for _ in range(second_factor.TRIES):
        with pytest.raises(Refused, match=r"^this code is wrong"):
            second_factor.prove("bob", wrong(secret), NOW)
    with pytest.raises(Refused, match="5 codes of bob were wrong: wait 15 min"):
        second_factor.prove("bob", code(secret), NOW)
    later = timedelta(minutes=16)
    second_factor.prove("bob", code(secret, later), NOW + later)
    assert [path.name for path in account_paths.enrolment_dir().iterdir()] == [".lock"]


@pytest.mark.parametrize("content", [b"", b"\xff\n", b"not base32\n", "é\n".encode()])
def test_file_that_is_damaged_is_named_with_who_removes_it(content: bytes) -> None:
    account_paths.second_factor_dir().mkdir(parents=True)
    (account_paths.second_factor_dir() / "bob").write_bytes(content + b"12345678\n" if content else b"")
    with pytest.raises(Failed, match=r"^the second factor of bob is damaged; .*second-factor remove bob"):
        second_factor.prove("bob", "123456", NOW)
    assert second_factor.recovery_codes_left("bob") == bool(content)
