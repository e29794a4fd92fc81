# SPDX-License-Identifier: Apache-2.0
"""`millrace client …` on a server with two shares."""

import json
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.cli import program
from millrace.measure.bench.plan import site as measured
from millrace.measure.client import tls
from millrace.measure.client.mlperf import submission
from millrace.serve.config.model import Config, DesiredShare, NfsServer
from millrace.serve.config.protocols import Nfs, NfsClient, Smb
from millrace.system import net, paths
from millrace.system.documents import write_model
from millrace_client import check, pack
from tests.fakes.certificates import certify
from tests.fakes.samples import pool
from tests.unit.measure.bench.sites import site
from tests.unit.measure.client.servers import PORTS

DATASETS = DesiredShare(
    name="datasets",
    type="dataset-ro",
    project=1002,
    nfs=Nfs(clients=[NfsClient(client="10.0.1.0/24", access="ro", sec=["krb5p", "krb5i"], xprtsec=["mtls"])]),
    smb=Smb(enabled=False),
)
TRAIN = DesiredShare(name="train", type="training", project=1001)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(net, "serving", lambda: PORTS)
    write_model(paths.pool_file(), pool())
    configure([TRAIN, DATASETS])
    certify(addresses=["10.0.1.2"])
    # what openssl would say is another test's
    monkeypatch.setattr(tls, "client_trust", lambda used: "authority\n")
    for port, mtu in (("enp1s0", 9000), ("enp65s0np0", 1500)):
        (tmp_path / "sys/class/net" / port).mkdir(parents=True)
        (tmp_path / "sys/class/net" / port / "mtu").write_text(f"{mtu}\n")
    return tmp_path


def configure(shares: list[DesiredShare]) -> None:
    write_model(
        paths.state_dir() / "config.json",
        Config(shares=shares, next_project=1100, nfs=NfsServer(networks=["10.0.0.0/24", "10.0.1.0/24"])),
    )


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as end:
        program.main(["client", *arguments])
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


RECIPE = ("recipe", "--workload", "training", "--protocol", "nfs-tcp")


def test_a_recipe_can_be_pasted(server: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *RECIPE, "--share", "train")
    assert status == 0
    assert "\n10.0.0.2:/srv/pool/train /mnt/train nfs vers=4.2,proto=tcp,nconnect=16," in out


def test_the_address_is_in_a_network_of_the_clients(server: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *RECIPE, "--share", "datasets", "--json")
    made = json.loads(out)
    assert status == 0 and made["schema_version"] == 1
    assert made["source"] == "10.0.1.2:/srv/pool/datasets"
    assert made["expect"]["mtu"] == 1500


def test_a_read_only_share_with_demands(server: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *RECIPE, "--share", "datasets", "--json")
    assert ",ro,sec=krb5p,xprtsec=mtls," in json.loads(out)["fstab"][0]


def test_the_only_share_need_not_be_named(server: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure([TRAIN])
    assert run(capsys, *RECIPE)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([*RECIPE, "--share", "nosuch"], 2, "no share 'nosuch': there is train, datasets"),
        (RECIPE, 2, "more than one share exists; choose one with --share: train, datasets"),
        (["recipe", "--workload", "speed", "--protocol", "nfs-tcp"], 2, "'speed' is not one of"),
        (["recipe", "--workload", "mixed", "--protocol", "smb"], 2, "'smb' is not one of"),
        (["recipe", "--workload", "mixed", "--protocol", "smb-rdma", "--share", "train"], 1, "use --protocol nfs-rdma"),
        (["recipe", "--workload", "mixed", "--protocol", "nfs-rdma", "--share", "train"], 1, "no RDMA device"),
        (["zone", "--host", "a b"], 2, "is not a host name"),
        (["recipe", "--protocol", "nfs-tcp"], 2, "--workload is missing"),
        (["recipe", "--workload", "mixed"], 2, "--protocol is missing"),
        (["recipe", "--gpu", "nvidia", "--share", "train"], 1, "no RDMA device"),
        (["recipe", "--gpu", "nvidia", "--share", "datasets"], 1, "requires TLS"),
        (["recipe", "--gpu", "intel", "--share", "train"], 2, "'intel' is not one of"),
        (["kubernetes", "--share", "train", "--class", "Fast_Class"], 2, "'Fast_Class' cannot be the name of a Kuber"),
        (["kubernetes", "--share", "train", "--namespace", "kube.system"], 2, "cannot be a Kubernetes namespace"),
        (["kubernetes", "--share", "train", "--dataset", "../etc"], 2, "is not a directory of the share"),
        (["kubernetes", "--share", "train", "--host", "a b"], 2, "is not a host name"),
        (["kubernetes", "--share", "datasets"], 1, "requires Kerberos"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    server: Path, arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run(capsys, *arguments)
    assert said[:2] == (status, "")
    assert words in said[2] and said[2].count("\n") == 1


@pytest.mark.usefixtures("server")
def test_rdma_is_offered_where_there_is_a_device(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(net, "serving", lambda: [replace(one, rdma=True) for one in PORTS])
    status, out, _ = run(capsys, "recipe", "--workload", "mixed", "--protocol", "nfs-rdma", "--share", "train")
    assert status == 0 and "proto=rdma,port=20049,nconnect=4" in out


@pytest.mark.usefixtures("server")
def test_for_gpus_workload_and_protocol_have_defaults(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(net, "serving", lambda: [replace(one, rdma=True) for one in PORTS])
    chosen = ("recipe", "--gpu", "nvidia", "--share", "train", "--client-address", "10.0.0.21", "--json")
    made = json.loads(run(capsys, *chosen)[1])
    assert (made["workload"], made["protocol"]) == ("training", "nfs-rdma-trunked")
    assert "10.0.0.21" in made["gpu"]["merge"][0]["text"]


def test_without_a_pool_there_is_nothing_to_mount(server: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths.pool_file().unlink()
    status, _, err = run(capsys, *RECIPE)
    assert status == 1 and "no pool yet" in err


def test_server_without_an_address_is_refused(
    server: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(net, "serving", list)
    status, _, err = run(capsys, *RECIPE, "--share", "train")
    assert status == 1 and "no port of this server has an address" in err


def test_the_check_takes_what_expect_prints(server: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "expect", "--workload", "training", "--protocol", "nfs-tcp", "--share", "train")
    (tmp_path / "expect.json").write_text(out)
    assert check.load_expectation(str(tmp_path / "expect.json"))["lanes"] == 16


@pytest.mark.parametrize("gpu", [None, "nvidia", "amd"])
def test_check_is_printed_as_one_program(
    server: Path, gpu: str | None, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(SystemExit) as end:
        program.main(["client", "check-script", *([] if gpu is None else ["--gpu", gpu])])
    assert end.value.code == 0
    assert capsysbinary.readouterr().out == pack.check(gpu)


def test_a_kit_has_all_that_a_client_needs(server: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = tmp_path / "kit.tar"
    assert run(capsys, "kit", *RECIPE[1:], "--share", "train", str(name))[0] == 0
    with tarfile.open(name) as archive:
        members = {member.name.removeprefix("millrace-train/"): member for member in archive}
    # as a client unpacks it
    subprocess.run(["tar", "--extract", "--file", name, "--directory", tmp_path], check=True)
    assert {"README", "recipe.json", "check.pyz", "fstab", "root/etc/modprobe.d/millrace-nfs.conf"} <= set(members)
    assert "root/etc/systemd/system/mnt-train.automount" in members
    assert members["check.pyz"].mode == 0o755
    assert check.load_expectation(str(tmp_path / "millrace-train/recipe.json"))["share"] == "train"


def test_a_zone_for_the_name_server(server: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "zone", "--host", "nas")
    assert status == 0 and out.splitlines()[1:] == [
        "nas 300 IN A 10.0.0.2",
        "nas 300 IN A 10.0.1.2",
        "nas 300 IN AAAA fd00:1::2",
    ]
    assert json.loads(run(capsys, "zone", "--host", "nas", "--json")[1])["schema_version"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--client-memory", "much"], "'much' is not a size"),
        (["--client-memory", "512G", "--share", "nosuch"], "there is no share 'nosuch'"),
        (["--client-memory", "512G", "--model", "resnet50"], "'resnet50' is not one of"),
        ([], "--client-memory"),
    ],
)
def test_wrong_question_about_mlperf_is_one_sentence(
    server: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measured, "site", site)
    status, out, err = run(capsys, "mlperf", "--share", "train", *arguments)
    assert (status, out) == (2, "")
    assert words in err and err.count("\n") == 1


def test_submission_is_for_the_mount_of_the_share(
    server: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measured, "site", site)
    monkeypatch.setattr(submission, "hypervisor", lambda run: None)
    monkeypatch.setattr(submission, "in_force", lambda pool: SimpleNamespace(sysctl={}))
    asked = ("mlperf", "--share", "train", "--client-memory", "512G", "--clients", "2", "--model", "llama3-8b")
    status, out, _ = run(capsys, *asked, "--json")
    made = json.loads(out)
    assert status == 0 and made["system"]["path"] == "systems/millrace.yaml"
    assert all(
        "/mnt/train/llama3-8b" in command for command in made["sheets"][0]["commands"] if "mlpstorage" in command
    )
    assert "systems/millrace.yaml" in run(capsys, *asked)[1]
