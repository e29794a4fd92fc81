# SPDX-License-Identifier: Apache-2.0
"""The example of the manual is applied, and any file is a fixed point: applied twice is applied once."""

import random
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
import pytest

from millrace.cli.apply import export
from millrace.cli.apply.model import ServerFile
from millrace.plan.policy import edit as policy_edit
from millrace.plan.policy.policy_in_force import in_force
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.network import trial, trial_record
from millrace.serve.share.edit import set_share
from tests.unit.cli.apply.server import AppliedServer, applied, exported, target
from tests.unit.wings import PAGE

DOCS = PAGE.parent
EXAMPLE = (DOCS / "examples/server.toml").read_text()
# Each is a part of a file; parts do not need each other.
PARTS = (
    '[users.anna]\ngroups = ["ml"]\n[groups.ml]\n[groups.ops]\n',
    '[access.eve]\nrole = "viewer"\n[access.joe]\nrole = "administrator"\nfull_name = "Joe \\"J\\" Ö"\n',
    '[shares.one]\ntype = "checkpoint"\nsize = "1536M"\n[shares.one.nfs]\nclients = [{ client = "10.0.0.7", '
    'squash = "all", anonuid = 3000 }]\n',
    '[shares.two]\nwriting = "own"\ncomment = "x = [1] # no"\nsmb = { encryption = "required", audit = true }\n',
    '[shares.three]\nchild_size = "20G"\nsnapshots = { weekly = 4, large = true }\nnfs = { snapshots = true }\n',
    '[shares.data]\nsize = "7T"\nsoft_size = "6T"\nsmb = { networks = ["10.0.0.0/16"], io_uring = false }\n',
    '[alert_routes.mail]\nkind = "mail"\nserver = "smtp.example.com:25"\nsecurity = "none"\nsender = "a@example.com"\n'
    'recipients = ["b@example.com", "c@example.com"]\n[alert_routes.log]\nkind = "syslog"\n',
    '[policy.nfsd]\nthreads = 64\n[policy.drives]\nexclude = ["S2", "S1"]\nreplace = "same-bay"\n',
    '[network]\nroutes = [{ network = "10.9.0.0/16", gateway = "10.0.9.1" }]\n[network.ports.enp2s0]\n'
    'addresses = ["10.0.9.2/24"]\ngateway = "10.0.9.1"\n',
)


def settled(text: str, server: AppliedServer) -> None:
    """Apply a file and keep its network."""
    applied(text, server)
    if trial_record.is_open(trial_record.last()):
        trial.confirm(server.host())


def test_example_is_applied_and_described(server: AppliedServer) -> None:
    settled(EXAMPLE, server)
    assert {"data", "train"} == {share.name for share in store.load().shares}
    assert target(EXAMPLE, server).changes == []
    assert f"```toml\n{EXAMPLE}```" in (DOCS / "apply.md").read_text()


def test_example_and_export_are_valid_by_the_schema(server: AppliedServer) -> None:
    settled(EXAMPLE, server)
    validator = jsonschema.Draft202012Validator(ServerFile.model_json_schema())
    validator.validate(tomllib.loads(EXAMPLE))
    validator.validate(tomllib.loads(exported()))
    assert not validator.is_valid({"shares": {"data": {"typ": "mixed"}}})
    assert export.values(store.load()) == tomllib.loads(exported())


@pytest.mark.parametrize("seed", range(8))
def test_any_file_applied_twice_is_applied_once_and_exports_itself(server: AppliedServer, seed: int) -> None:
    chance = random.Random(seed)
    parts = chance.sample(PARTS, chance.randint(1, len(PARTS)))
    settled("".join(parts), server)
    before = store.load()
    assert target("".join(parts), server).changes == []
    assert target(exported(), server, prune=True).changes == []
    settled(exported(), server)
    assert store.load() == before


# One key of each verb, as it is before; then each is changed alone.
ALL = (
    '[access.eve]\nrole = "viewer"\n[groups.ml]\n[users.anna]\ngroups = []\n[network]\ndns = []\n'
    '[shares.one]\n[shares.home]\ntype = "home"\n[alert_routes.log]\nkind = "syslog"\n'
    '[network.ports.enp2s0]\naddresses = ["10.0.9.2/24"]\n'
)
SHARE_OPTIONS: tuple[dict[str, Any], ...] = (
    {"comment": "x"},
    {"size": "1T"},
    {"soft_size": "1T"},
    {"child_size": "1G"},
    {"type": "checkpoint"},
    {"writing": "own"},
    {"group": "ml"},
    {"nfs": False},
    {"smb": False},
    {"nfs_snapshots": True},
    {"nfs_clients": ("10.0.0.7",)},
    {"smb_networks": ("10.0.0.0/16",)},
    {"smb_users": ("anna",)},
    {"smb_groups": ("ml",)},
    {"encryption": "required"},
    {"io_uring": False},
    {"audit": True},
    {"previous_versions": False},
)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43


def comes_back(server: AppliedServer, change: Callable[[], object]) -> bool:
    """Whether an export that is applied after a change makes the server what it was; False where nothing changed."""
    file, before = exported(), store.load()
    change()
    if exported() == file:
        return False
    settled(file, server)
    return store.load().model_copy(update={"serial": before.serial}) == before and exported() == file


def with_part(name: str, part: str, values: Mapping[str, Any]) -> Callable[[], object]:
    """Change what an administrator decided of a thing, as its verb does."""

    def mutate(config: Config) -> Config:
        things = [each.model_copy(update=dict(values)) if each.name == name else each for each in getattr(config, part)]
        return config.model_copy(update={part: things})

    return lambda: store.change("root", "by a verb", mutate)


def test_each_option_of_a_share_that_is_changed_comes_back(server: AppliedServer) -> None:
    settled(ALL, server)
    lost = [
        options
        for options in SHARE_OPTIONS
        if not comes_back(server, lambda options=options: set_share("one", options, server.server))  # type: ignore[misc]
    ]
    assert lost == []


@pytest.mark.parametrize(
    "change",
    [
        with_part("eve", "users", {"keys": [KEY]}),
        with_part("eve", "users", {"locked": True}),
        with_part("eve", "users", {"full_name": "Eve"}),
        with_part("anna", "users", {"groups": ["ml"]}),
        with_part("one", "shares", {"snapshots": SnapshotSchedule(daily=7)}),
        with_part("enp2s0", "ports", {"mtu": 9000}),
        with_part("enp2s0", "ports", {"addresses": ["10.0.8.2/24"]}),
    ],
)
def test_key_that_is_changed_after_the_export_comes_back(server: AppliedServer, change: Callable[[], object]) -> None:
    settled(ALL, server)
    assert comes_back(server, change)


@pytest.mark.parametrize("words", ["scrub.every=week", "snapshots.free=20", "nfsd.threads=32"])
def test_policy_key_that_is_set_after_the_export_comes_back(server: AppliedServer, words: str) -> None:
    settled(ALL, server)
    file, before = exported(), in_force()
    policy_edit.keep(policy_edit.with_keys(policy_edit.current(), policy_edit.assigned([words])), server)
    assert in_force() != before
    applied(file, server, prune=True)
    assert in_force() == before
