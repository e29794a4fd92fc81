# SPDX-License-Identifier: Apache-2.0
"""Objects for csi-driver-nfs: accepted by the schemas of Kubernetes, with names that it takes."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from millrace.measure.client.choices import ClientWorkload
from millrace.measure.client.kubernetes import KubernetesRecipe, StorageClassWish, document, recipe
from millrace.measure.client.served import ServedShare
from millrace.serve.config.model import DesiredShare
from millrace.serve.config.protocols import Nfs, NfsClient
from millrace.system.errors import BadInput, Refused
from tests.unit.measure.client.servers import SMB_ONLY, TRAIN

SHARE = DesiredShare(name="train", type="training", project=1002, child_size=100 << 30)
READ_ONLY = replace(TRAIN, read_only=True)


def wanted(**more: Any) -> StorageClassWish:
    return replace(StorageClassWish(None, "default", ClientWorkload.MIXED, None, ()), **more)


def made(served: ServedShare = TRAIN, share: DesiredShare = SHARE, **more: Any) -> KubernetesRecipe:
    return recipe(served, share, wanted(**more))


def objects(found: KubernetesRecipe) -> dict[str, list[Any]]:
    """The documents by kind, each accepted by the strict schema of its kind."""
    by_kind: dict[str, list[Any]] = {}
    for one in yaml.safe_load_all(found.yaml):
        kubernetes_validate.validate(one, "1.34", strict=True)
        by_kind.setdefault(one["kind"], []).append(one)
    return by_kind


def test_claims_have_a_class_whose_options_hold_for_deletes_too() -> None:
    manifests = made()
    by_kind = objects(manifests)
    [secret], [storage] = by_kind["Secret"], by_kind["StorageClass"]
    assert set(by_kind) == {"Secret", "StorageClass"} and manifests.storage_class == "millrace-train"
    parameters = storage["parameters"]
    assert storage["provisioner"] == "nfs.csi.k8s.io"
    assert (parameters["server"], parameters["share"]) == ("10.0.0.2", "/srv/pool/train")
    assert (parameters["onDelete"], parameters["mountPermissions"]) == ("archive", "0")
    # a claim is a directory at the top, which the server limits
    assert "/" not in parameters["subDir"]
    assert secret["stringData"]["mountOptions"] == ",".join(storage["mountOptions"])
    assert parameters["csi.storage.k8s.io/provisioner-secret-name"] == secret["metadata"]["name"]
    assert {"vers=4.2", "hard", "nconnect=8"} <= set(storage["mountOptions"])


def test_data_set_is_a_volume_that_many_pods_read() -> None:
    manifests = made(READ_ONLY, datasets=("imagenet", "Sets/C4_en"), host="nas.example.com", namespace="ml")
    by_kind = objects(manifests)
    assert set(by_kind) == {"PersistentVolume", "PersistentVolumeClaim"} and manifests.storage_class is None
    first, second = by_kind["PersistentVolume"]
    assert [first["metadata"]["name"], second["metadata"]["name"]] == manifests.volumes
    assert re.fullmatch("millrace-train-imagenet-[0-9a-f]{8}", manifests.volumes[0])
    assert re.fullmatch("millrace-train-sets-c4-en-[0-9a-f]{8}-[0-9a-f]{8}", manifests.volumes[1])
    handle = f"nas.example.com#srv/pool/train#Sets/C4_en#{manifests.volumes[1]}"
    assert second["spec"]["csi"]["volumeHandle"] == handle
    assert second["spec"]["csi"]["volumeAttributes"]["share"] == "/srv/pool/train/Sets/C4_en"
    assert second["spec"]["csi"]["readOnly"] and second["spec"]["mountOptions"][-1] == "ro"
    assert by_kind["PersistentVolumeClaim"][1]["spec"]["volumeName"] == second["metadata"]["name"]
    assert by_kind["PersistentVolumeClaim"][1]["metadata"]["namespace"] == "ml"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"name": "Fast"}, "'Fast' cannot be the name of a Kubernetes object"),
        ({"name": "-a"}, "cannot be the name of a Kubernetes object"),
        ({"name": "a" * 254}, "at most 253"),
        ({"name": ""}, "cannot be the name of a Kubernetes object"),
        ({"namespace": "kube.system"}, "cannot be a Kubernetes namespace"),
        ({"datasets": ("../etc",)}, "is not a directory of the share"),
        ({"datasets": ("a#b",)}, "is not a directory of the share"),
        ({"datasets": ("",)}, "has no character for the name"),
        ({"served": SMB_ONLY}, "is not on NFS"),
        ({"served": replace(TRAIN, closed=True)}, "no node can mount train"),
        ({"served": replace(TRAIN, sec="krb5p")}, "requires Kerberos"),
        ({"served": READ_ONLY}, "is read-only"),
    ],
)
def test_what_kubernetes_or_the_share_refuses_is_one_sentence(more: dict[str, Any], words: str) -> None:
    with pytest.raises((BadInput, Refused), match=words) as error:
        made(**more)
    assert "\n" not in str(error.value)


def test_name_of_any_share_becomes_one_that_kubernetes_takes() -> None:
    assert made(replace(TRAIN, name="a-b")).storage_class == "millrace-a-b"
    lossy = made(replace(TRAIN, name="a__b-")).storage_class
    assert lossy is not None and re.fullmatch("millrace-a-b-[0-9a-f]{8}", lossy)


def test_two_shares_data_sets_or_namespaces_never_have_one_name() -> None:
    classes = [made(replace(TRAIN, name=name)).storage_class for name in ("a-b", "a_b", "a__b", "a-b-")]
    assert len({*classes}) == len(classes)
    volumes = [
        volume
        for share, data_set, place in [
            ("a", "b-c", "ml"),
            ("a-b", "c", "ml"),
            ("a", "b/c", "ml"),
            ("a", "b_c", "ml"),
            ("a", "B-c", "ml"),
            ("a", "b-c", "web"),
        ]
        for volume in made(replace(READ_ONLY, name=share), datasets=(data_set,), namespace=place).volumes
    ]
    assert len({*volumes}) == 6
    assert len(made(READ_ONLY, datasets=("c4", "c4")).volumes) == 1


class Driver:
    """What csi-driver-nfs does with the class on a mount of the share: CreateVolume and DeleteVolume."""

    def __init__(self, share: Path) -> None:
        self._share, self._uid = share, 0
        [storage] = objects(made())["StorageClass"]
        self._directory = str(storage["parameters"]["subDir"])

    def create(self, namespace: str, claim: str) -> Path:
        """Return the directory of a new claim; its UID, and so the name of its volume, is new each time."""
        self._uid += 1
        values = {"pvc.metadata.namespace": namespace, "pvc.metadata.name": claim}
        values["pv.metadata.name"] = f"pvc-{self._uid:08x}-9c1b-4c39-8f4e-0123456789ab"
        path = self._share / re.sub(r"\$\{([^}]*)\}", lambda match: values[match[1]], self._directory)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def delete(self, volume: Path) -> Path:
        """Return the directory of the archive, renamed as rename(2) does it."""
        return volume.rename(volume.with_name(f"archived-{volume.name}"))


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_claims_of_two_namespaces_never_share_a_directory(driver: Driver) -> None:
    first, second = driver.create("team", "a-data"), driver.create("team-a", "data")
    (first / "f").write_text("first")
    assert not (second / "f").exists()
    driver.delete(first)
    assert second.is_dir()


def test_claim_of_a_name_that_was_deleted_before_is_empty_and_can_be_deleted_too(driver: Driver) -> None:
    archives = []
    for text in ("first", "second"):
        volume = driver.create("ns", "db")
        assert list(volume.iterdir()) == []
        (volume / "f").write_text(text)
        archives.append(driver.delete(volume))
    assert [(archive / "f").read_text() for archive in archives] == ["first", "second"]
    assert list(driver.create("ns", "db").iterdir()) == []


def test_directory_of_the_longest_names_still_has_room_for_its_archive(driver: Driver) -> None:
    assert driver.delete(driver.create("n" * 63, "c" * 253)).is_dir()


def test_class_of_before_is_named_in_the_notes() -> None:
    assert any("kubectl delete storageclass" in note.text for note in made().notes)


def test_notes_say_what_limits_a_claim_and_to_whom_it_belongs() -> None:
    limited = " ".join(note.text for note in made().notes)
    assert "Each claim can hold 107 GB" in limited and "becomes nobody here" in limited
    client = NfsClient(client="10.0.0.0/24", squash="all", anonuid=2000)
    other = DesiredShare(name="train", type="training", project=1002, nfs=Nfs(clients=[client]))
    free = " ".join(note.text for note in made(share=other).notes)
    assert "--child-size 100G" in free and "becomes nobody" not in free


def test_text_of_a_document_is_read_back_as_it_was() -> None:
    value = {"a": {"b": 'x: "y" # z', "c": ["1", "no", "ü"], "d": True}, "e": "{"}
    assert yaml.safe_load(document(value)) == value
