# SPDX-License-Identifier: Apache-2.0
"""Each share has three lights, also where nothing has been set up."""

import json
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.protect.light import Light, absent
from millrace.protect.protection import places
from millrace.serve.config import files
from millrace.serve.config.model import Config, first_config
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.system.documents import write_model


@pytest.fixture
def config(root_user: Path) -> Config:
    first = first_config()
    data = first.shares[0].model_copy(update={"snapshots": SnapshotSchedule(hourly=24)})
    made = first.model_copy(update={"shares": [data]})
    files.config_file().parent.mkdir(parents=True, exist_ok=True)
    write_model(files.config_file(), made)
    return made


def test_place_where_nothing_is_set_up_is_said_in_a_sentence(config: Config) -> None:
    here, server, away = places.lights(config)
    assert (here.place, here.schedule) == ("here", "24 hourly")
    assert (server.state, server.sentence) == ("none", "No second server has been set up for share data.")
    assert (away.state, away.sentence) == ("none", "No backup off site has been set up for share data.")


def test_place_that_knows_some_shares_leaves_the_others_dark(config: Config) -> None:
    lit = absent("data", "off-site").model_copy(update={"state": "ok", "last": "2026-11-30T12:00:00+00:00"})
    two = config.model_copy(update={"shares": [*config.shares, config.shares[0].model_copy(update={"name": "other"})]})

    def some(of: Config, now: object, run: object) -> list[Light]:
        return [lit]

    found_lights = places.lights(two, sources={"off-site": some})
    assert [(light.share, light.place, light.state) for light in found_lights] == [
        *[("data", "here", "none"), ("data", "second-server", "none"), ("data", "off-site", "ok")],
        *[("other", place, "none") for place in ("here", "second-server", "off-site")],
    ]


def test_share_of_another_server_has_the_lights_that_there_are(config: Config) -> None:
    def other(of: Config, now: object, run: object) -> list[Light]:
        return [absent("far", "second-server")]

    sources = {"second-server": other}
    assert [(light.share, light.place) for light in places.lights(config, sources=sources)][3:] == [
        ("far", "second-server")
    ]


def test_verb_shows_each_share_with_its_places(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protection", "show"]) == 0
    table = capsys.readouterr().out
    assert "Second server" in table and "data" in table and "No second server" in table
    assert run(["protection", "show", "data", "--json"]) == 0
    [share] = json.loads(capsys.readouterr().out)["shares"]
    assert [light["place"] for light in share["lights"]] == ["here", "second-server", "off-site"]


def test_unknown_share_is_refused(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protection", "show", "other"]) == 1
    assert "share other does not exist" in capsys.readouterr().err


def test_server_without_a_share_says_how_to_create_one(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(files.config_file(), config.model_copy(update={"shares": []}))
    assert run(["protection", "show"]) == 0
    assert "millrace share create" in capsys.readouterr().out
