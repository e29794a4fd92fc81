# SPDX-License-Identifier: Apache-2.0
"""The MTU of the path to a client is measured with pings that nothing may fragment."""

import pytest

from millrace.serve.network.path_mtu import path_mtu
from millrace.system.errors import BadInput, Failed
from millrace.system.run import Result
from tests.unit.serve.network.network import Network


def test_path_that_carries_the_mtu_needs_one_ping(network: Network) -> None:
    network.mtus["enp1s0"] = 9000
    measured = path_mtu("10.0.0.9", network)
    assert (measured.configured, measured.carried) == (9000, 9000) and len(network.called("ping")) == 1
    assert "-s 8972" in network.called("ping")[0] and "-M do" in network.called("ping")[0]


def test_smaller_path_is_found_to_the_byte(network: Network) -> None:
    network.mtus["enp1s0"], network.path = 9000, 1500
    measured = path_mtu("10.0.0.9", network)
    assert measured.carried == 1500
    assert "carries 1500 bytes, enp1s0 sends 9000" in measured.sentence


def test_client_that_answers_no_ping_is_named(network: Network) -> None:
    network.path = 0
    measured = path_mtu("10.0.0.9", network)
    assert measured.carried is None and "10.0.0.9 answers no ping through enp1s0" in measured.sentence


def test_path_to_what_is_no_client_is_refused(network: Network) -> None:
    with pytest.raises(BadInput, match="is not an address"):
        path_mtu("client.example.org", network)
    with pytest.raises(BadInput, match="is not the address of a client"):
        path_mtu("127.0.0.1", network)
    network.broken["ip -j route get"] = Result(2, "", "Network is unreachable")
    with pytest.raises(Failed, match=r"no link of this server leads to 10\.0\.0\.9"):
        path_mtu("10.0.0.9", network)
