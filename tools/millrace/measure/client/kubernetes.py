# SPDX-License-Identifier: Apache-2.0
"""What a Kubernetes cluster needs to use a share through csi-driver-nfs: objects for `kubectl apply`, with reasons.

Pure. Parameters and their meaning: csi-driver-nfs 4.13, docs/driver-parameters.md.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from millrace.measure.client import recipes, sources
from millrace.measure.client.choices import ClientWorkload
from millrace.measure.client.kubernetes_names import (
    as_name,
    checked,
    directories,
    namespace,
    object_name,
    unique,
)
from millrace.measure.client.model import Note
from millrace.measure.client.nfs import required_options
from millrace.measure.client.served import ServedShare
from millrace.serve.config.model import DesiredShare
from millrace.serve.share.networks import CLOSED
from millrace.system.command import command
from millrace.system.documents import Contract
from millrace.system.errors import Refused
from millrace.system.text import size

DRIVER = "nfs.csi.k8s.io"
SECRET = "csi.storage.k8s.io/provisioner-secret"
CSI_DRIVER = "csi-driver-nfs 4.13: docs/driver-parameters.md"
CHILD_SIZE = "--size none --soft-size none --child-size 100G"
SQUASH = "--nfs-client 'NETWORK squash=all anonuid=2000 anongid=2000'"
XFS = "xfs_quota(8): a file counts to one project"


class KubernetesRecipe(Contract):
    """Objects of a cluster as YAML: `storage_class` for volumes that pods claim, `volumes` for data sets to read.

    `storage_class` is null for a share that is only read.
    """

    schema_version: Literal[1] = 1
    share: str
    server: str
    storage_class: str | None
    volumes: list[str]
    yaml: str
    notes: list[Note]


@dataclass(frozen=True)
class StorageClassWish:
    """What was asked for: the name of the class (None: that of the share), a namespace, and data sets."""

    name: str | None
    namespace: str
    workload: ClientWorkload
    host: str | None
    datasets: Sequence[str]


def recipe(served: ServedShare, share: DesiredShare, wanted: StorageClassWish) -> KubernetesRecipe:
    """Return the objects of a share.

    BadInput: Kubernetes does not take a name. Refused: nodes cannot mount the share, or there is nothing to claim.
    """
    _refuse(served)
    name = checked(object_name, wanted.name if wanted.name is not None else f"millrace-{as_name(served.name)}")
    place = checked(namespace, wanted.namespace)
    sets = directories(wanted.datasets)
    if served.read_only and not sets:
        raise Refused(f"share {served.name} is read-only and nothing can be claimed: name data sets with --dataset")
    options = [
        choice.option
        for choice in (
            *recipes.nfs_common(recipes.tcp(wanted.workload)),
            *recipes.NFS_CACHING[wanted.workload],
            *required_options(served),
        )
        if choice.option != "ro"
    ]
    server = wanted.host or str(served.addresses[0].ip)
    objects: list[Mapping[str, Any]] = []
    if not served.read_only:
        objects += [_secret(name, place, options), _storage_class(name, place, server, served.path, options)]
    capacity = str(share.size or 1 << 40)
    volumes = []
    for directory, part in sets:
        # volumes of all namespaces share their names, and NAME-PART alone is the same for a + b-c and a-b + c
        volume = checked(object_name, unique(f"{name}-{part}", name, place, directory))
        volumes.append(volume)
        objects += _dataset(volume, place, server, served, directory, options, capacity)
    return KubernetesRecipe(
        share=served.name,
        server=server,
        storage_class=None if served.read_only else name,
        volumes=volumes,
        yaml="".join(document(manifest) for manifest in objects),
        notes=list(_notes(served, share)),
    )


def _refuse(served: ServedShare) -> None:
    if not served.nfs:
        raise Refused(
            f"share {served.name} is not on NFS: {command('millrace share set', served.name, options=['--nfs'])}"
        )
    if served.closed:
        raise Refused(f"no node can mount {served.name}: {CLOSED}")
    if served.sec:
        raise Refused(
            f"share {served.name} requires Kerberos ({served.sec}), which csi-driver-nfs does not support: allow "
            "sec=sys to the nodes"
        )


def _secret(name: str, place: str, options: Sequence[str]) -> Mapping[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": place},
        "type": "Opaque",
        "stringData": {"mountOptions": ",".join(options)},
    }


def _storage_class(name: str, place: str, server: str, path: str, options: Sequence[str]) -> Mapping[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": DRIVER,
        "parameters": {
            "server": server,
            "share": path,
            # One level, so that each claim is a directory at the top, which the server can give a quota. A volume's
            # name ends in the UID of its claim, so that no other volume, and none of its archives, has that directory.
            "subDir": "${pvc.metadata.namespace}-${pv.metadata.name}",
            "onDelete": "archive",
            "mountPermissions": "0",
            f"{SECRET}-name": name,
            f"{SECRET}-namespace": place,
        },
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "mountOptions": list(options),
    }


def _dataset(
    volume: str, place: str, server: str, served: ServedShare, directory: str, options: Sequence[str], capacity: str
) -> list[Mapping[str, Any]]:
    path = f"{served.path}/{directory}"
    claim = {"accessModes": ["ReadOnlyMany"], "storageClassName": ""}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {
                **claim,
                "capacity": {"storage": capacity},
                "persistentVolumeReclaimPolicy": "Retain",
                "mountOptions": [*options, "ro"],
                "csi": {
                    "driver": DRIVER,
                    "readOnly": True,
                    "volumeHandle": f"{server}#{served.path.lstrip('/')}#{directory}#{volume}",
                    "volumeAttributes": {"server": server, "share": path},
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": volume, "namespace": place},
            "spec": {**claim, "resources": {"requests": {"storage": capacity}}, "volumeName": volume},
        },
    ]


def _notes(served: ServedShare, share: DesiredShare) -> Iterator[Note]:
    if not served.read_only:
        if share.child_size is None:
            text = (
                "The driver does not enforce the capacity of a claim, and this share does not either. To limit each "
                f"claim: {command('millrace share set', share.name, options=[CHILD_SIZE])}"
            )
        else:
            text = (
                f"Each claim can hold {size(share.child_size)}, whatever it requests: use one share for each size. A "
                "write above that fails with ENOSPC."
            )
        yield Note(text=text, source=XFS)
        if not any(client.anonuid is not None for client in share.nfs.clients):
            yield Note(
                text="The driver creates directories as root, which becomes nobody here. To give volumes to the user "
                f"that pods run as: {command('millrace share set', share.name, options=[SQUASH])}",
                source=CSI_DRIVER,
            )
        yield Note(
            text="The directory of a deleted claim is kept as archived-…: delete it on a client when it is not needed.",
            source=CSI_DRIVER,
        )
        yield Note(
            text="A class that names directories NAMESPACE-CLAIM gives two claims one directory: replace it with "
            "`kubectl delete storageclass` and this one. Its volumes stay as they are.",
            source=CSI_DRIVER,
        )
        yield Note(
            text="A claim with another claim as its dataSource is a clone: the driver copies on a node; with NFS 4.2 "
            "the files share their blocks on the server.",
            source=CSI_DRIVER,
        )
        yield Note(
            text="The secret has the mount options of the class: without it a volume is deleted with other ones.",
            source=CSI_DRIVER,
        )
    if served.xprtsec:
        yield Note(text="This share requires TLS: each node needs tlshd.", source=sources.TLSHD)
    yield Note(
        text="CSI snapshots are tar archives of the complete volume: clone the claim, or use millrace share clone.",
        source=CSI_DRIVER,
    )


def document(value: Mapping[str, Any]) -> str:
    """Return one YAML document: blocks of keys, strings quoted as JSON does, which YAML contains."""
    return "---\n" + "".join(f"{line}\n" for line in _block(value, 0))


def _block(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    margin = "  " * depth
    for key, child in value.items():
        name = f"{margin}{key}:"
        if isinstance(child, Mapping):
            yield name
            yield from _block(child, depth + 1)
        elif isinstance(child, list):
            yield name
            yield from (f"{margin}  - {json.dumps(each)}" for each in child)
        else:
            yield f"{name} {json.dumps(child)}"
