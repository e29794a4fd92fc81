# SPDX-License-Identifier: Apache-2.0
"""The host name is set by systemd-hostnamed, unless it is none or a domain knows this server by it."""

import pytest

from millrace.serve.config import store
from millrace.serve.config.model import Domain
from millrace.serve.network.host_name import set_host_name
from millrace.system.errors import BadInput, Refused
from tests.unit.serve.network.network import Network


def test_host_name_is_set_at_once(network: Network) -> None:
    done = set_host_name("NAS-1.example.org", network)
    assert network.called("hostnamectl") == ["hostnamectl hostname nas-1.example.org"] and done.seconds == 0


@pytest.mark.parametrize("name", ["", "a b", "nas_1", "10.0.0.1", "nas;reboot", "n" * 65])
def test_bad_host_names_are_refused(network: Network, name: str) -> None:
    with pytest.raises(BadInput):
        set_host_name(name, network)
    assert not network.called("hostnamectl")


def test_host_name_of_a_member_of_a_domain_stays(network: Network) -> None:
    domain = Domain(realm="AD.EXAMPLE.COM", workgroup="AD", machine="NAS")
    store.change("admin", "join", lambda old: old.model_copy(update={"domain": domain}))
    with pytest.raises(Refused, match=r"ad\.example\.com knows this server as NAS: leave it first"):
        set_host_name("other", network)
    assert not network.called("hostnamectl")
