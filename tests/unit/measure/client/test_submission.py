# SPDX-License-Identifier: Apache-2.0
"""The server's half of a submission to MLPerf Storage."""

import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.result import store
from millrace.measure.bench.result.model import Accelerators
from millrace.measure.client.mlperf import submission as made
from millrace.measure.client.mlperf import text
from millrace.measure.client.mlperf.model import Sheet, Submission
from millrace.measure.client.mlperf.sheets import Asked
from millrace.serve.config.model import Config
from millrace.system import net, paths
from millrace.system.errors import BadInput, Refused
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.runs import run
from tests.unit.measure.bench.sites import site
from tests.unit.measure.bench.tools import Tools
from tests.unit.measure.client.servers import PORTS
from tests.unit.measure.client.submitted import Description

GIB = 1 << 30
TIB = 1 << 40
ASKED = Asked(
    name="nas-1",
    accelerator="b200",
    accelerators=4,
    clients=2,
    memory=512 * GIB,
    mountpoint="/mnt/models",
    results="/var/tmp/results",
    free=100 * TIB,
)
MODELS = ["unet3d", "retinanet", "llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t", "kvcache"]


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(net, "serving", lambda: PORTS)

    monkeypatch.setattr(made, "in_force", lambda pool: SimpleNamespace(sysctl={"vm.dirty_bytes": "1073741824"}))
    product = tmp_path / "sys/class/dmi/id/product_name"
    product.parent.mkdir(parents=True)
    product.write_text("SYS-121\n")
    return tmp_path


def submission(asked: Asked = ASKED, models: list[str] = MODELS, here: Site | None = None) -> Submission:
    return made.submission(asked, models, here or site(), Config(), Tools())


def sheet(model: str, asked: Asked = ASKED) -> Sheet:
    (found,) = submission(asked, [model]).sheets
    return found


# The description

FILLED: dict[str, Any] = {
    "rack_units": 1,
    "total_rack_units": 1,
    "min_psus_active": 1,
    "unit_count": 2,
    "inlet_voltage": 230,
    "nameplate_power_watts": 1600,
    "efficiency": "Titanium",
    "vendor_name": "Maker",
    "media_type": "TLC",
    "cpu_qty": 2,
    "cpu_cores": 64,
    "type": "ethernet",
    "speed": 100,
    "traffic": "data",
    "deployment": "onprem",
}


def filled(value: Any, name: str = "") -> Any:
    """The description with a plausible value in each field that is left open."""
    if isinstance(value, dict):
        return {key: filled(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, name) for one in value]
    return FILLED.get(name, "something") if value == "unknown" else value


def test_description_is_valid_once_what_is_unknown_is_filled_in() -> None:
    document = yaml.safe_load(submission().system.text)
    assert Description.model_validate(filled(document))


def test_virtual_server_may_be_in_a_cloud_and_then_has_no_rack(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("in a cloud" in line for line in text.lines(submission()))
    monkeypatch.setattr(made, "hypervisor", lambda _: "kvm")
    draft = submission()
    assert any("in a cloud delete rack_units and power" in line for line in text.lines(draft))
    document = filled(yaml.safe_load(draft.system.text))
    tested = document["system_under_test"]
    tested["deployment"] = "cloud"
    with pytest.raises(ValidationError, match="neither rack units nor power"):
        Description.model_validate(document)
    for node in (*tested["product_nodes"], *tested["clients"]):
        del node["chassis"]["rack_units"], node["chassis"]["power"]
    del tested["total_rack_units"]
    assert Description.model_validate(document)


def test_everything_that_is_unknown_is_named_by_the_validation() -> None:
    draft = submission()
    with pytest.raises(ValidationError) as error:
        Description.model_validate(yaml.safe_load(draft.system.text))
    places = {".".join(str(part) for part in each["loc"]) for each in error.value.errors()}
    named = {re.sub(r"\[(\d+)\]", r".\1", place) for place in draft.unknown}
    assert places <= named
    # free texts are valid as they are, so only the list names them
    assert {place.rpartition(".")[2] for place in named - places} <= {
        "model_name",
        "vendor_name",
        "cpu_model",
        "name",
        "version",
    }


def test_description_has_what_the_inventory_knows_and_nothing_else() -> None:
    (node,) = yaml.safe_load(submission().system.text)["system_under_test"]["product_nodes"]
    seen = site().inventory
    assert node["chassis"]["model_name"] == "SYS-121"
    assert node["chassis"]["cpu_model"] == seen.cpu_model
    assert node["chassis"]["memory_capacity"] == round(seen.memory / GIB)
    assert node["chassis"]["rack_units"] == "unknown"
    assert sum(one["unit_count"] for one in node["drives"]) == 12
    assert {one["media_type"] for one in node["drives"]} == {"unknown"}
    assert node["sysctl"] == [{"name": "vm.dirty_bytes", "value": "1073741824"}]


def test_ports_without_a_known_role_are_unknown_and_those_without_a_link_say_no_more() -> None:
    (node,) = yaml.safe_load(submission().system.text)["system_under_test"]["product_nodes"]
    ports = node["networking"]
    assert sum(one["unit_count"] for one in ports) == len(site().inventory.nics)
    assert all(one["type"] == "unknown" for one in ports)
    for one in ports:
        assert ("speed" in one) is (one["state"] == "up")


def test_values_with_a_meaning_in_yaml_stay_texts() -> None:
    here = site()
    strange = 'no: "yes" # [x]\\'
    here = replace(here, inventory=here.inventory.model_copy(update={"cpu_model": strange}))
    (node,) = yaml.safe_load(submission(here=here).system.text)["system_under_test"]["product_nodes"]
    assert node["chassis"]["cpu_model"] == strange


# Sizes


@pytest.mark.parametrize(
    ("model", "accelerators", "clients", "memory", "files"),
    [
        # 500 steps bind: 500 × 7 × 400
        ("unet3d", 400, 2, 16, 1_400_000),
        # memory binds: 5 × 2 × 512 GiB / 146,600,628
        ("unet3d", 4, 2, 512, 37_501),
        ("retinanet", 1000, 1, 16, 12_000_000),
    ],
)
def test_data_set_is_the_larger_of_both_rules(
    model: str, accelerators: int, clients: int, memory: int, files: int
) -> None:
    found = sheet(model, replace(ASKED, accelerators=accelerators, clients=clients, memory=memory * GIB))
    assert found.files == files
    assert found.size == files * {"unet3d": 146_600_628, "retinanet": 322_957}[model]
    assert all(f"dataset.num_files_train={files}" in one for one in found.commands[1:])
    assert "seq 6" in found.commands[2]


def test_accelerators_are_the_same_on_every_client() -> None:
    assert sheet("unet3d", replace(ASKED, accelerators=5, clients=4)).accelerators == 8


def test_other_accelerator_has_its_own_batch() -> None:
    found = sheet("retinanet", replace(ASKED, accelerator="mi355", accelerators=1000, memory=16 * GIB))
    assert found.files == 16_000_000 and "--accelerator-type mi355" in found.commands[0]


@pytest.mark.parametrize(
    ("model", "processes", "size"),
    [
        ("llama3-8b", 8, 10 * 105 * GIB),
        ("llama3-70b", 64, 10 * 912 * GIB),
        ("llama3-405b", 512, 10 * int(5.29 * TIB)),
        ("llama3-1t", 1024, 10 * 18 * TIB),
    ],
)
def test_checkpoints_have_the_processes_and_the_size_of_the_rules(model: str, processes: int, size: int) -> None:
    found = sheet(model)
    assert (found.processes, found.size) == (processes, size)
    assert f"--num-processes {processes}" in found.commands[0]


def test_client_that_would_read_from_its_memory_runs_twice() -> None:
    # 525 GiB on each of two clients with 512 GiB
    found = sheet("llama3-8b")
    assert [one for one in found.commands if "--num-checkpoints-read 0" in one] == found.commands[:1]
    assert "drop_caches" in found.commands[1] and "--num-checkpoints-write 0" in found.commands[2]
    once = sheet("llama3-8b", replace(ASKED, memory=64 * GIB))
    assert len(once.commands) == 1 and "--num-checkpoints" not in once.commands[0]


def test_what_does_not_fit_into_the_pool_is_said() -> None:
    found = sheet("llama3-1t")
    assert found.fits is False
    assert any(
        note.text.startswith("Too large for the pool: 198 TB are needed, 110 TB are free") for note in found.notes
    )
    assert sheet("llama3-8b").fits is True
    assert sheet("kvcache").fits is None


def test_checkpoint_with_too_many_clients_names_the_most() -> None:
    def spread(clients: int) -> str:
        found = sheet("llama3-8b", replace(ASKED, clients=clients))
        return next(note.text for note in found.notes if "processes" in note.text)

    assert spread(2).startswith("8 processes, 4 on each client.")
    assert spread(3).startswith("8 processes are too few for 3 clients: use at most 2.")
    assert sheet("llama3-70b", replace(ASKED, clients=3)).notes[0].text.startswith("64 processes, 21 or 22 on each")


# What mlpstorage 3.0 takes: mlpstorage_py/cli/*_args.py, the options of CLOSED that the sheets use.
EVERYWHERE = {"--hosts", "--results-dir", "--systemname"}
OPTIONS = {
    "training datasize": {"--accelerator-type", "--max-accelerators", "--client-host-memory-in-gb", "--data-dir"},
    "training datagen": {"--num-processes", "--data-dir", "--param"},
    "training run": {"--accelerator-type", "--num-accelerators", "--client-host-memory-in-gb", "--data-dir", "--param"},
    "checkpointing run": {
        *("--model", "--num-processes", "--accelerator-type", "--client-host-memory-in-gb", "--checkpoint-folder"),
        *("--num-checkpoints-read", "--num-checkpoints-write"),
    },
    "kvcache run": {"--cache-dir"},
}


def test_commands_have_the_options_that_mlpstorage_takes() -> None:
    seen = set()
    for model_sheet in submission(replace(ASKED, memory=64 * GIB)).sheets + submission().sheets:
        for command in (each for each in model_sheet.commands if "mlpstorage" in each):
            words = shlex.split(re.sub(r"^for .*; do (.*); done$", r"\1", command))
            assert words[:2] == ["mlpstorage", "closed"]
            step = next(word for word in words if word in ("datasize", "datagen", "run"))
            name = f"{words[2]} {step}"
            options = {word for word in words if word.startswith("--")}
            assert options <= EVERYWHERE | OPTIONS[name], name
            # all that is needed is there; a number of checkpoints only where there are two runs
            assert EVERYWHERE | OPTIONS[name] <= options | {"--num-checkpoints-read", "--num-checkpoints-write"}, name
            assert ("file" in words) is (name not in ("training datasize", "kvcache run"))
            seen.add(name)
        assert any("mlpstorage init ORGANIZATION /var/tmp/results" in note.text for note in model_sheet.notes)
    assert seen == set(OPTIONS)


def test_results_are_elsewhere() -> None:
    for one in submission().sheets:
        assert all("/var/tmp/results" in command for command in one.commands if "mlpstorage" in command)
    for one in submission(models=["unet3d", "llama3-8b"]).sheets:
        assert any("another file system than /mnt/models" in note.text for note in one.notes)


# The forecast


def test_forecast_from_the_plan_is_marked() -> None:
    found = sheet("unet3d", replace(ASKED, accelerators=None)).forecast
    assert found is not None and found.source == "predicted" and found.count
    assert found.text.startswith("Forecast from the plan:") and "nothing was measured" in found.text


def test_forecast_from_a_measurement_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = Accelerators(accelerator="B200", count=9, floor=90, au=91.5, bandwidth=60e9)
    low, high = (
        done(f"{layer}/nfs-tcp/unet3d/train").model_copy(update={"accelerators": [fed]}) for layer in ("L2", "L3")
    )
    low = low.model_copy(update={"accelerators": [fed.model_copy(update={"count": 12})]})
    measured = run(low, high)
    monkeypatch.setattr(made, "_runs", lambda: [measured])
    model_sheet = sheet("unet3d", replace(ASKED, accelerators=None))
    # clients are nearer to the truth than the loopback
    assert model_sheet.forecast and (model_sheet.forecast.source, model_sheet.forecast.count) == ("measured", 9)
    assert (
        "L3/nfs-tcp/unet3d/train of run" in model_sheet.forecast.text
        and "not an MLPerf result" in model_sheet.forecast.text
    )
    assert model_sheet.accelerators == 10
    monkeypatch.setattr(made, "_runs", lambda: [measured.model_copy(update={"labels": ["emulated"]})])
    emulated = sheet("unet3d").forecast
    assert emulated and emulated.source == "predicted"
    below = high.model_copy(update={"accelerators": [fed.model_copy(update={"au": 40.0})]})
    monkeypatch.setattr(made, "_runs", lambda: [run(below)])
    too_many = sheet("unet3d").forecast
    assert too_many and too_many.source == "predicted"


def test_run_that_cannot_be_read_is_no_obstacle(server: Path) -> None:
    broken = store.home() / "20260101-000000/run.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    forecast = sheet("unet3d", replace(ASKED, accelerators=None)).forecast
    assert forecast and forecast.source == "predicted"


# Bad input


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"clients": 0}, "0 is no number of clients"),
        ({"accelerators": 0}, "0 is no number of accelerators"),
        ({"memory": 0}, "the memory of a client is at least 1G"),
        ({"name": "../x"}, "cannot be the name of a system"),
        ({"name": "a b"}, "cannot be the name of a system"),
        ({"results": ""}, "'' is not a directory of the clients for results"),
        ({"results": "results"}, "'results' is not a directory of the clients for results"),
        ({"results": "/var\nrm"}, r"'/var\\nrm' is not a directory of the clients for results"),
        ({"results": "/mnt/models"}, "'/mnt/models', which is on this server: name a directory outside /mnt/models"),
        ({"results": "/mnt/../mnt/models/x"}, "'/mnt/models/x', which is on this server"),
    ],
)
def test_wrong_number_or_name_is_one_sentence(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words) as error:
        submission(replace(ASKED, **changed))
    assert "\n" not in str(error.value)


def test_accelerator_that_the_rules_do_not_have_for_a_model_is_refused() -> None:
    with pytest.raises(Refused, match="the rules have no unet3d for mi355: use --accelerator b200"):
        submission(replace(ASKED, accelerator="mi355"), ["unet3d"])


def test_text_can_be_pasted() -> None:
    lines = text.lines(submission())
    commands = [line for line in lines if line.startswith(("mlpstorage", "for run"))]
    assert len(commands) == sum("mlpstorage" in one for each in submission().sheets for one in each.commands)
    assert "Not a result." in lines[0]
    assert lines.index("system_under_test:") == 2
