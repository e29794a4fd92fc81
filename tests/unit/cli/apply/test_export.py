# SPDX-License-Identifier: Apache-2.0
"""The example of the manual is applied, and any file is a fixed point: applied twice is applied once."""

import random
import tomllib

import jsonschema
import pytest

from millrace.cli.apply import export
from millrace.cli.apply.model import ServerFile
from millrace.serve.config import store
from millrace.serve.network import trial, trial_record
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
