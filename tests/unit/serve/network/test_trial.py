# SPDX-License-Identifier: Apache-2.0
"""A change of the network waits for its confirmation; without one, everything is as it was."""

from dataclasses import replace

import pytest

from millrace.serve.config import store
from millrace.serve.network import trial, trial_record
from millrace.serve.network.edit import LinkSettings, set_link
from millrace.serve.network.network_state import found
from millrace.serve.render import reconcile
from millrace.serve.revision import replace as revision
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.unit.boot.units import unit
from tests.unit.serve.network.network import FIRST, Network

STEM = FIRST.replace(":", "")
KEPT = f"etc/systemd/network/40-millrace-{STEM}.network"
TRIED = f"run/systemd/network/30-millrace-{STEM}.network"


def change(network: Network, *addresses: str) -> None:
    set_link("enp1s0", LinkSettings(addresses), network.host())


def test_change_is_in_force_and_in_no_state_until_it_is_confirmed(network: Network) -> None:
    change(network, "10.0.0.11/24")
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]
    assert store.load().ports == [] and not (network.root / KEPT).exists()
    waiting = found(network).trial
    assert waiting is not None and waiting.state == "waiting"


def test_confirmed_change_is_in_the_state_and_reloads_nothing(network: Network) -> None:
    change(network, "10.0.0.11/24")
    network.calls.clear()
    done = trial.confirm(network.host())
    assert done.seconds == 0 and done.what == "set enp1s0: 10.0.0.11/24"
    assert [port.addresses for port in store.load().ports] == [["10.0.0.11/24"]]
    assert (network.root / KEPT).read_text() == (network.root / TRIED).read_text()
    assert not network.called("networkctl")


def test_change_that_nobody_confirms_is_rolled_back(network: Network) -> None:
    change(network, "10.0.0.11/24")
    network.clock += trial.TO_CONFIRM
    trial.expire(network.host())
    assert network.addresses["enp1s0"] == ["10.0.0.2/24"]
    ended = found(network).trial
    assert ended is not None and ended.state == "rolled-back"
    assert ended.problem == "nobody confirmed it within 60 s; the previous network is in force"
    with pytest.raises(Refused, match="the last one was rolled back, nobody confirmed it"):
        trial.confirm(network.host())


def test_confirmed_change_outlives_the_minute(network: Network) -> None:
    change(network, "10.0.0.11/24")
    trial.confirm(network.host())
    network.clock += 2 * trial.TO_CONFIRM
    trial.expire(network.host())
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]


def test_change_is_rolled_back_by_hand(network: Network) -> None:
    change(network, "10.0.0.11/24")
    done = trial.roll_back(network.host())
    assert done.verified == ["the previous network is in force"]
    assert network.addresses["enp1s0"] == ["10.0.0.2/24"]
    with pytest.raises(Refused, match="no change of the network waits"):
        trial.roll_back(network.host())


def test_power_cut_forgets_a_change_that_was_not_confirmed(network: Network) -> None:
    change(network, "10.0.0.11/24")
    trial.confirm(network.host())
    change(network, "10.0.0.12/24")
    assert network.addresses["enp1s0"] == ["10.0.0.12/24"]
    network.power_cut()
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]
    assert found(network).trial is None


def test_power_cut_restores_fixed_addresses_while_dhcp_is_tried(network: Network) -> None:
    change(network, "10.0.0.11/24")
    trial.confirm(network.host())
    change(network, "default")
    assert network.addresses["enp1s0"] == ["10.0.0.2/24"]
    network.power_cut()
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]


def test_port_that_goes_back_has_the_addresses_of_its_credential(network: Network) -> None:
    credential = network.root / "run/systemd/network/50-data.network"
    credential.parent.mkdir(parents=True)
    credential.write_text(f"[Match]\nMACAddress={FIRST}\n\n[Network]\nAddress=10.0.0.77/24\n")
    change(network, "10.0.0.11/24")
    trial.confirm(network.host())
    change(network, "default")
    assert network.addresses["enp1s0"] == ["10.0.0.77/24"]


def test_second_change_is_refused_while_one_waits(network: Network) -> None:
    change(network, "10.0.0.11/24")
    with pytest.raises(
        Refused, match=r"'set enp1s0: 10\.0\.0\.11/24' waits for its confirmation: millrace network confirm"
    ):
        change(network, "10.0.0.12/24")
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]


def test_change_whose_process_was_killed_is_rolled_back_by_the_next_one(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed() -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        # A process that is killed puts nothing back.
        patch.setattr(reconcile, "_put_back", lambda *arguments: None)
        network.before["ip -j addr"] = lambda: killed() if network.called("networkctl reconfigure") else None
        change(network, "10.0.0.11/24")
    network.before.clear()
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]
    trial.apply(network.host())
    assert network.addresses["enp1s0"] == ["10.0.0.2/24"]
    ended = found(network).trial
    assert ended is not None and ended.problem is not None and ended.problem.startswith("the process that applied it")


def test_process_that_systemd_does_not_start_changes_nothing(network: Network) -> None:
    network.broken["systemd-run"] = Result(1, "", "no bus")
    with pytest.raises(Failed, match="no bus"):
        set_link("enp1s0", LinkSettings(("10.0.0.11/24",)), replace(network.host(), start=None))
    assert trial_record.last() is None and network.addresses["enp1s0"] == ["10.0.0.2/24"]


def test_process_of_a_change_is_started_again_where_it_is_killed(network: Network) -> None:
    network.before["systemd-run"] = lambda: trial.apply(network.host())
    set_link("enp1s0", LinkSettings(("10.0.0.11/24",)), replace(network.host(), start=None))
    # a unit that is there still, of the change before, would be refused
    [stopped] = network.called("systemctl stop millrace-network-trial.service")
    assert stopped
    [line] = network.called("systemd-run")
    assert line.endswith(" /usr/bin/millrace network apply") and "--property=Restart=on-failure" in line
    # the drop-in of all units closes the rest: what shares need when an address changes, and files of the network
    paths = line.partition("--property=ReadWritePaths=")[2].partition(" /usr/bin/")[0].split()
    assert {*unit("millrace-share.service")["ReadWritePaths"][0].split()} <= {*paths}


def test_change_that_is_not_applied_in_time_is_a_failure(network: Network) -> None:
    with pytest.raises(Failed, match=r"was not applied in 300 s: systemctl status millrace-network-trial"):
        set_link("enp1s0", LinkSettings(("10.0.0.11/24",)), replace(network.host(), start=lambda run: None))
    assert store.load().ports == []


def test_other_changes_of_the_state_are_kept_with_a_confirmation(network: Network) -> None:
    change(network, "10.0.0.11/24")
    store.change("admin", "something else", lambda config: config.model_copy(update={"next_id": 3000}))
    trial.confirm(network.host())
    assert store.load().next_id == 3000 and len(store.load().ports) == 1


def roll_back_to_first(network: Network) -> None:
    """Two changes of the network were kept, and the state of the first is restored."""
    for address in ("10.0.0.11/24", "10.0.0.12/24"):
        change(network, address)
        trial.confirm(network.host())
    report = revision.rollback(1, network, network.server, host=network.host())
    assert report.warnings[-1].startswith(
        "the network differs: it is in force for 60 s, and then the previous one again"
    )


def test_network_of_an_earlier_state_is_tried_and_kept_when_it_is_confirmed(network: Network) -> None:
    roll_back_to_first(network)
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]
    assert [port.addresses for port in store.load().ports] == [["10.0.0.12/24"]]
    trial.confirm(network.host())
    assert [port.addresses for port in store.load().ports] == [["10.0.0.11/24"]]
    assert (network.root / KEPT).read_text() == (network.root / TRIED).read_text()


def test_network_of_an_earlier_state_that_nobody_confirms_is_rolled_back(network: Network) -> None:
    roll_back_to_first(network)
    network.clock += trial.TO_CONFIRM
    trial.expire(network.host())
    assert network.addresses["enp1s0"] == ["10.0.0.12/24"]
    assert [port.addresses for port in store.load().ports] == [["10.0.0.12/24"]]


def test_network_of_an_earlier_state_that_does_not_come_up_is_named_and_the_rest_is_there(network: Network) -> None:
    change(network, "10.0.0.11/24")
    trial.confirm(network.host())
    store.change("admin", "something else", lambda config: config.model_copy(update={"next_id": 3000}))
    change(network, "10.0.0.12/24")
    trial.confirm(network.host())
    network.taken.add("10.0.0.11/24")
    with pytest.raises(Failed, match="the state was replaced, except the network: "):
        revision.rollback(1, network, network.server, host=network.host())
    assert network.addresses["enp1s0"] == ["10.0.0.12/24"]


def test_rollback_of_the_state_waits_for_no_open_change(network: Network) -> None:
    change(network, "10.0.0.11/24")
    trial.confirm(network.host())
    change(network, "10.0.0.12/24")
    with pytest.raises(Refused, match="waits for its confirmation"):
        revision.rollback(1, network, network.server)
    assert network.addresses["enp1s0"] == ["10.0.0.12/24"]
