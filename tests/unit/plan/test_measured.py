# SPDX-License-Identifier: Apache-2.0
"""What was measured here overrides the policy until an administrator decides otherwise, and names its run."""

from pathlib import Path

import pytest

from millrace.plan import measured
from millrace.plan.current import with_settings_in_force
from millrace.plan.defaults import IoSettings, MemberSettings, PortSettings, SmbdSettings
from millrace.plan.explain import explanation
from millrace.plan.measured import MeasuredPolicy, Overrides
from millrace.plan.model import Decision, PlanFile
from millrace.plan.policy.model import MdPolicy, NfsdPolicy, Policy, PortsPolicy, SmbdPolicy, SysctlPolicy
from millrace.plan.settings import Basis, Settings, SettingsFile, relevant, settings_of
from millrace.plan.settings_changes import changes
from millrace.plan.values import value_in_words
from millrace.system import paths
from millrace.system.documents import write_model
from tests.unit.plan.servers import drives_1u12, server
from tests.unit.plan.test_settings import basis, planned

AT = "2026-11-24T16:00:00+00:00"
RUN = "20261124-160000"
SOURCE = f"measured here on 2026-11-24 16:00 UTC, run {RUN}"


def applied(of: Basis, values: Overrides, replaced: Overrides | None = None) -> MeasuredPolicy:
    return MeasuredPolicy(
        run=RUN,
        at=AT,
        by="anna",
        values=values,
        replaced=replaced or Overrides(),
        server=of.server,
        arrays=of.arrays,
        ports=of.ports,
    )


def in_force(values: Overrides, policy: Policy | None = None, replaced: Overrides | None = None) -> Settings:
    here = basis(server(drives_1u12()), policy or Policy())
    wanted = relevant(policy or Policy(), applied(here, values, replaced))
    return settings_of(here.model_copy(update={"policy": wanted}))


def decision(settings: Settings, name: str) -> Decision:
    return next(one for one in settings.values if one.name == name)


def test_measured_value_is_in_force_and_names_its_run_and_what_it_replaced() -> None:
    plain = settings_of(basis(server(drives_1u12())))
    settings = in_force(Overrides(md=MdPolicy(stripe_cache_size=16384), nfsd=NfsdPolicy(threads=48)))
    assert (settings.md.stripe_cache_size, settings.nfsd.threads_max) == (16384, 48)
    stripe = decision(settings, "md.stripe_cache_size")
    assert stripe.source == SOURCE
    without = plain.md.stripe_cache_size
    assert stripe.reason == f"Measured on this server and applied (md.stripe_cache_size); without it: {without}."
    assert {setting.name for setting in settings.values if setting.source == SOURCE} == {
        "md.stripe_cache_size",
        "nfsd.threads",
    }
    assert {change.name: change.causes for change in changes(plain, settings)} == {
        "md.stripe_cache_size": ["policy"],
        "nfsd.threads": ["policy"],
    }


def test_measured_value_overrides_what_the_policy_had_when_it_was_applied() -> None:
    policy = Policy(md=MdPolicy(stripe_cache_size=256))
    replaced = Overrides(md=MdPolicy(stripe_cache_size=256))
    found = in_force(Overrides(md=MdPolicy(stripe_cache_size=8192)), policy, replaced)
    assert found.md.stripe_cache_size == 8192
    assert decision(found, "md.stripe_cache_size").source == SOURCE


def test_key_that_an_administrator_changed_afterwards_is_theirs_and_the_others_stay_measured() -> None:
    policy = Policy(md=MdPolicy(stripe_cache_size=1024))
    values = Overrides(md=MdPolicy(stripe_cache_size=8192, read_ahead_kib=4096))
    found = in_force(values, policy)
    assert (found.md.stripe_cache_size, found.md.read_ahead) == (1024, 4096)
    assert decision(found, "md.stripe_cache_size").source == "policy file: md.stripe_cache_size"
    assert decision(found, "md.read_ahead").source == SOURCE


def test_other_hardware_does_not_use_what_was_measured_and_says_so() -> None:
    here = basis(server(drives_1u12()))
    old = applied(here, Overrides(md=MdPolicy(stripe_cache_size=16384)))
    more = old.model_copy(update={"server": old.server.model_copy(update={"memory": old.server.memory * 2})})
    found = settings_of(here.model_copy(update={"policy": relevant(Policy(), more)}))
    assert found.md == settings_of(here).md
    assert found.unused == (
        f"The settings of tuner run {RUN} are not used: this server has other memory than on 2026-11-24 16:00 UTC, "
        "when they were measured."
    )


def test_setting_of_ports_is_not_used_with_other_ports_and_the_rest_is() -> None:
    here = basis(server(drives_1u12()))
    values = Overrides(md=MdPolicy(stripe_cache_size=16384), ports=PortsPolicy(rx_usecs=8))
    other = here.model_copy(update={"policy": relevant(Policy(), applied(here, values)), "ports": ["ice 16 GT/s x16"]})
    settings = settings_of(other)
    assert (settings.md.stripe_cache_size, settings.ports) == (16384, PortSettings())
    assert settings.unused == (
        f"The setting of ports of tuner run {RUN} is not used: this server has other network ports than on "
        "2026-11-24 16:00 UTC, when it was measured."
    )
    # a document of before the ports were recorded, and a run that measured no ports
    for of in (
        applied(here, values).model_copy(update={"ports": None}),
        applied(here, Overrides(md=values.md)),
    ):
        assert settings_of(other.model_copy(update={"policy": relevant(Policy(), of)})).unused is None


def test_queues_of_members_are_the_kernels_without_a_policy() -> None:
    assert settings_of(basis(server(drives_1u12()))).members == MemberSettings()
    found = in_force(Overrides(md=MdPolicy(member_requests=256)), Policy(md=MdPolicy(member_max_kib=512)))
    assert found.members == MemberSettings(requests=256, max_kib=512)
    assert decision(found, "md.member_requests").source == SOURCE
    assert decision(found, "md.member_requests").reason.endswith("without it: the kernel's default.")
    assert decision(found, "md.member_max_kib").source == "policy file: md.member_max_kib"


def test_settings_of_smbd_are_sambas_without_a_policy() -> None:
    assert settings_of(basis(server(drives_1u12()))).smbd == SmbdSettings(max_credits=8192, aio_min_bytes=1)
    policy = Policy(smbd=SmbdPolicy(aio_min_bytes=65536))
    found = in_force(Overrides(smbd=SmbdPolicy(max_credits=1024)), policy)
    assert found.smbd == SmbdSettings(max_credits=1024, aio_min_bytes=65536)
    told, theirs = decision(found, "smbd.max_credits"), decision(found, "smbd.aio_min_bytes")
    assert told.source == SOURCE and told.reason.endswith("without it: Samba's default, 8192.")
    assert theirs.source == "policy file: smbd.aio_min_bytes" and value_in_words(theirs) == "64 KiB"
    assert theirs.reason.endswith("computed without it: Samba's default, all of them.")


def test_interrupts_of_ports_are_the_drivers_without_a_policy() -> None:
    assert settings_of(basis(server(drives_1u12()))).ports == PortSettings()
    found = in_force(Overrides(ports=PortsPolicy(rx_usecs=8)), Policy(ports=PortsPolicy(rx_usecs="adaptive")))
    assert found.ports == PortSettings(rx_usecs="adaptive")
    found = in_force(Overrides(ports=PortsPolicy(rx_usecs=8)))
    assert found.ports == PortSettings(rx_usecs=8)
    assert decision(found, "ports.rx_usecs").reason.endswith("without it: the driver's default.")


def test_measured_io_mode_is_told_with_the_kernels_one() -> None:
    found = in_force(Overrides(nfsd=NfsdPolicy(io_cache_read="direct")))
    assert found.io == IoSettings(read="direct")
    told = decision(found, "nfsd.io_modes")
    assert told.source.startswith("measured here on ") and "buffered" in told.reason


def test_damaged_file_stops_nothing_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert measured.find() == measured.FoundMeasured()
    kept = applied(basis(server(drives_1u12())), Overrides(sysctl=SysctlPolicy(dirty_bytes=1 << 28)))
    write_model(measured.file(), kept)
    assert measured.find() == measured.FoundMeasured(kept)
    measured.file().write_text("{")
    found = measured.find()
    assert found.measured is None and "measured.json" in (found.problem or "")


def test_plan_of_a_pool_explains_the_setting_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    plan = planned(server(drives_1u12()), Policy())
    file = PlanFile(sha256=plan.digest(), proposal=plan)
    assert with_settings_in_force(file) == file
    settings = in_force(Overrides(md=MdPolicy(stripe_cache_size=16384, member_requests=64)))
    write_model(paths.settings_file(), SettingsFile(release="1", at=AT, settings=settings))
    told = with_settings_in_force(file)
    assert told.sha256 == file.sha256
    for name in ("md.stripe_cache_size", "md.member_requests"):
        assert explanation(told.proposal, name).decision.source == SOURCE
    assert explanation(told.proposal, "layout") == explanation(plan, "layout")
