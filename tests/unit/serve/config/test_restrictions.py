# SPDX-License-Identifier: Apache-2.0
"""What no change may bring is refused in one sentence; a state that has it from before is still read and changed."""

from collections.abc import Callable

import pytest

from millrace.serve.config import store
from millrace.serve.config.files import config_file
from millrace.serve.config.model import Config, DesiredPort, DesiredShare, Group, User, first_config
from millrace.serve.config.protocols import Nfs, Smb
from millrace.system.documents import write_model
from millrace.system.errors import BadInput
from tests.fakes.appliance import Appliance

NOBODY = DesiredShare(name="sm", type="mixed", project=1002, nfs=Nfs(enabled=False), smb=Smb(enabled=False))


def port(name: str = "enp1s0", gateway: str | None = None) -> DesiredPort:
    return DesiredPort(mac="52:54:00:12:34:56", name=name, addresses=["10.0.0.2/24"], gateway=gateway)


NEW: dict[str, Callable[[Config], Config]] = {
    "sm would be served to nobody": lambda old: old.model_copy(update={"shares": [*old.shares, NOBODY]}),
    "the gateway 10.0.0.2 is an address of enp1s0": lambda old: old.model_copy(
        update={"ports": [port(gateway="10.0.0.2")]}
    ),
    "'enp1s0.nRoute' is not the name of a port": lambda old: old.model_copy(update={"ports": [port("enp1s0\nRoute")]}),
    "empower cannot be the name": lambda old: old.model_copy(update={"groups": [Group(name="empower", gid=2005)]}),
    "wheel cannot be the name": lambda old: old.model_copy(update={"users": [User(name="wheel", uid=2006)]}),
}


@pytest.mark.parametrize("words", NEW)
def test_change_that_brings_it_is_refused(appliance: Appliance, words: str) -> None:
    for ask in (store.preview, lambda mutate: store.change("root", "import", mutate)):
        with pytest.raises(BadInput, match=words) as error:
            ask(NEW[words])
        assert str(error.value).isprintable()
    assert store.load() == first_config()


@pytest.mark.parametrize("words", NEW)
def test_state_that_has_it_is_read_and_other_things_are_changed(appliance: Appliance, words: str) -> None:
    write_model(config_file(), NEW[words](first_config()))
    before = store.load()
    changed = before.shares[0].model_copy(update={"comment": "x"})
    after = store.change(
        "root", "share set data", lambda old: old.model_copy(update={"shares": [changed, *old.shares[1:]]})
    )
    assert after.shares[0].comment == "x" and store.read().problem is None
    assert (after.groups, after.users, after.ports) == (before.groups, before.users, before.ports)
