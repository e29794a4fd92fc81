# SPDX-License-Identifier: Apache-2.0
"""What administrators decide of replicas: pairing, adding, pausing, removing; what is refused, in one sentence."""

from datetime import UTC, datetime, timedelta

import pytest

from millrace.protect.replica import replica_change, replica_pairing, replica_source, replica_status
from millrace.protect.replica.replica_model import ReplicaState, late
from millrace.protect.replica.replica_upkeep import is_due
from millrace.serve.config import store
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share import edit
from millrace.system.errors import BadInput, Refused
from tests.fakes.certificates import pair as self_signed
from tests.unit.protect.replica.conftest import CA, FINGERPRINT, READER, SOURCE, Replicas

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
OF = ReplicaSource(address=SOURCE, share="data", every=60, authority=CA, fingerprint=FINGERPRINT)


def test_reader_gets_the_snapshots_read_only_with_a_certificate(source: Replicas) -> None:
    exports = (source.appliance.root / "etc/exports.d/millrace.exports").read_text()
    [line] = [line for line in exports.splitlines() if line.startswith("/srv/pool/.millrace-snapshots/data ")]
    assert line.count("(") == 1 and line.startswith(f"/srv/pool/.millrace-snapshots/data {READER}(ro,")
    assert "no_root_squash" in line and line.endswith("xprtsec=mtls)")
    assert READER not in next(line for line in exports.splitlines() if line.startswith("/srv/pool/data "))


def test_reader_that_is_denied_gets_nothing(source: Replicas) -> None:
    replica_pairing.deny("data", READER, source.appliance.server)
    assert READER not in (source.appliance.root / "etc/exports.d/millrace.exports").read_text()
    with pytest.raises(Refused, match="may not read the snapshots of data"):
        replica_pairing.deny("data", READER, source.appliance.server)


def test_replica_of_a_replica_is_refused(replicas: Replicas) -> None:
    with pytest.raises(Refused, match="there is no replica of a replica"):
        replica_pairing.allow("copy", READER, CA, FINGERPRINT, replicas.appliance.server)


def test_replica_is_served_to_nobody(replicas: Replicas) -> None:
    with pytest.raises(BadInput, match="is a replica, which nobody opens: millrace replica promote copy"):
        edit.set_share("copy", {"nfs": True}, replicas.appliance.server)
    exports = (replicas.appliance.root / "etc/exports.d/millrace.exports").read_text()
    assert "/srv/pool/copy " not in exports and ".millrace-snapshots/copy" not in exports


def test_tlshd_trusts_the_sources_of_replicas(replicas: Replicas) -> None:
    assert "sources.pem" in (replicas.appliance.root / "etc/tlshd/config").read_text()
    assert CA in (replicas.appliance.root / "var/lib/millrace/certificate/sources.pem").read_text()
    assert SOURCE in (replicas.appliance.root / "run/millrace/nftables/replicas.nft").read_text()


def test_two_replicas_into_one_name_are_refused(replicas: Replicas) -> None:
    with pytest.raises(Refused, match="share copy exists: choose another --name"):
        replica_change.add(f"{SOURCE}:other", "copy", {}, (CA, FINGERPRINT), replicas.appliance.server)


def test_name_of_a_share_with_snapshots_is_refused(replicas: Replicas) -> None:
    replicas.snapshot(1)
    with pytest.raises(Refused, match="a share or a former share data has snapshots"):
        replica_change.add(f"{SOURCE}:data", None, {}, (CA, FINGERPRINT), replicas.appliance.server)


@pytest.mark.parametrize("text", ["data", "10.0.0.7", "10.0.0.7:", "10.0.0.7:/srv", "10.0.0.7:data/x", "a:b:c"])
def test_source_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"write it like 10\.0\.0\.7:data"):
        replica_change.parsed(text)


def test_address_in_brackets_is_one_of_ipv6() -> None:
    assert replica_change.parsed("[fd00::7]:data") == ("fd00::7", "data")


@pytest.mark.parametrize(("text", "minutes"), [("15m", 15), ("6h", 360), ("1d", 1440)])
def test_period_is_in_minutes(text: str, minutes: int) -> None:
    assert replica_change.minutes(text) == minutes


@pytest.mark.parametrize("text", ["15", "0m", "-1h", "1w", "1.5h", ""])
def test_period_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is no period"):
        replica_change.minutes(text)


def test_paused_replica_is_not_run(replicas: Replicas) -> None:
    replica_change.pause("copy", True)
    with pytest.raises(Refused, match="replica copy is paused: millrace replica resume copy"):
        replicas.synced()
    with pytest.raises(Refused, match="nothing was changed"):
        replica_change.pause("copy", True)
    replica_change.pause("copy", False)
    replicas.snapshot(1)
    assert replicas.synced().is_new


def test_removed_replica_leaves_its_snapshots(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    replicas.synced()
    with pytest.raises(BadInput, match="was repeated as 'data', not copy"):
        replica_change.remove("copy", "data", replicas.appliance.server)
    replica_change.remove("copy", "copy", replicas.appliance.server)
    assert store.load().share("copy") is None and replicas.tree(name).is_dir()
    assert SOURCE not in (replicas.appliance.root / "run/millrace/nftables/replicas.nft").read_text()


def test_status_has_age_and_lag(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    replicas.synced()
    listed = replica_status.listed(replicas.nas.server)
    [row] = listed.replicas
    assert (row.share, row.source, row.newest, row.snapshots) == ("copy", f"{SOURCE}:data", name, 1)
    assert row.age is not None and row.lag is not None and row.lag < 60 and row.last.drill is None
    assert [(reader.share, reader.address) for reader in listed.readers] == [("data", READER)]
    with pytest.raises(Refused, match="data is no replica: millrace replica list"):
        replica_status.listed(replicas.nas.server, "data")


@pytest.mark.parametrize(
    ("minutes", "made", "reason"),
    [
        (30, 30, None),
        (181, 30, "it was not up to date for more than 3 periods"),
        (30, 181, "its newest snapshot is older than 3 periods: the source makes none, or has listed none"),
    ],
)
def test_replica_is_late_after_three_periods(minutes: int, made: int, reason: str | None) -> None:
    state = ReplicaState(share="copy", current_at=(NOW - timedelta(minutes=minutes)).isoformat())
    assert late(OF, state, (NOW - timedelta(minutes=made)).isoformat(), NOW) == reason
    assert late(OF.model_copy(update={"paused": True}), state, None, NOW) is None


@pytest.mark.parametrize(("minutes", "due"), [(10, False), (56, False), (57, True), (61, True)])
def test_replica_is_due_after_its_period(minutes: int, due: bool) -> None:
    state = ReplicaState(share="copy", tried_at=(NOW - timedelta(minutes=minutes)).isoformat())
    assert is_due(OF, state, NOW) is due and is_due(OF, ReplicaState(share="copy"), NOW)


def test_fingerprint_is_confirmed_by_its_first_digits() -> None:
    text = self_signed("other")[0]
    with pytest.raises(BadInput, match="is not the beginning of the fingerprint") as raised:
        replica_pairing.confirmed(text, "0" * 32, lambda _: "")
    known = str(raised.value).partition("fingerprint ")[2].partition(", 32 digits")[0]
    assert replica_pairing.confirmed(text, known[:47].lower(), lambda _: "") == known
    assert replica_pairing.confirmed(text, None, lambda asked: asked) == known
    with pytest.raises(BadInput, match="is not the beginning"):
        replica_pairing.confirmed(text, known[:46], lambda _: "")


def test_one_fingerprint_confirms_one_certificate() -> None:
    text = self_signed("other")[0] + self_signed("third")[0]
    with pytest.raises(BadInput, match="the input has 2 certificates, and one fingerprint confirms one"):
        replica_pairing.confirmed(text, None, lambda asked: asked)


def test_firewall_lets_nfs_out_to_sources_of_both_kinds() -> None:
    text = replica_source.rules(["10.0.0.7", "fd00::7"])
    assert "add element inet millrace replica_sources4 { 10.0.0.7 }" in text
    assert "add element inet millrace replica_sources6 { fd00::7 }" in text
    assert "add element" not in replica_source.rules([])
