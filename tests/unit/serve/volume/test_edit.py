# SPDX-License-Identifier: Apache-2.0
"""A volume is there or not, served or not, old or new: whatever is refused, and at whatever step the power goes."""

import base64
import errno
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.serve.volume import edit, serve, store
from millrace.serve.volume.export import VolumeOrder
from millrace.serve.volume.model import Exports, VolumeRow
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.run import Result
from tests.fakes.nvmet import Killed
from tests.unit.serve.volume.conftest import HOST, OTHER, Nas

MIB = 1 << 20
KEY = bytes(range(32))
SECRET = f"DHHC-1:00:{base64.b64encode(KEY + zlib.crc32(KEY).to_bytes(4, 'little')).decode()}:"


def tcp(*hosts: str, **more: object) -> VolumeOrder:
    return replace(VolumeOrder("tcp", hosts or (HOST,), ("10.0.0.9",)), **more)  # type: ignore[arg-type]


def shown(nas: Nas) -> dict[str, VolumeRow]:
    return {one.name: one for one in serve.rows(nas.volumes())}


@pytest.mark.parametrize("link", [".", "stage"])
def test_link_of_adopted_drives_leads_no_sweep_out_of_the_pool(nas: Nas, tmp_path: Path, link: str) -> None:
    foreign, volumes = tmp_path / "foreign", nas.volumes()
    (foreign / "stage/kept").mkdir(parents=True)
    if link != ".":
        volumes.store.top.mkdir(mode=0o700)
    (volumes.store.top / link).symlink_to(foreign)
    with pytest.raises(Failed, match="is not a directory of root alone: examine it"):
        volumes.store.sweep(volumes.run)
    with pytest.raises(Failed, match="is not a directory of root alone: examine it"):
        volumes.store.prepare()
    assert (foreign / "stage/kept").is_dir() and not (foreign / "volumes").exists()


def test_link_in_place_of_the_data_is_not_served(nas: Nas, tmp_path: Path) -> None:
    edit.create("tank", "3M", None, nas.volumes)
    edit.export_volume("tank", tcp(), nas.volumes)
    volumes = nas.volumes()
    drive, data = tmp_path / "drive", volumes.store.data("tank")
    drive.write_bytes(bytes(3 * MIB))
    data.unlink()
    data.symlink_to(drive)
    assert serve.render(volumes) == [f"volume tank is not served: {data} is no file in its place; examine it"]
    assert str(data) not in str(volumes.goal(volumes.store.exports()))


def test_volume_is_allocated_and_held_by_a_quota_of_its_own(nas: Nas) -> None:
    report = edit.create("tank", "3M", None, nas.volumes)
    assert report.volume is not None
    assert (report.volume.size, report.volume.allocated, report.volume.export) == (3 * MIB, 3 * MIB, None)
    [(project, limit)] = nas.quotas.items()
    assert project >= 1 << 31
    assert 3 * MIB < limit < 100 * MIB
    assert (nas.root / "srv/pool" / paths.VOLUMES).stat().st_mode & 0o777 == 0o700
    assert nas.tree.attributes == {}
    assert nas.up is False


def test_size_is_rounded_up_to_full_stripes(nas: Nas) -> None:
    report = edit.create("tank", "1500K", None, nas.volumes)
    assert report.volume is not None
    assert report.volume.size == 2 * MIB


def test_exported_volume_is_served_on_a_port_of_its_own_to_its_host(nas: Nas) -> None:
    edit.create("one", "1M", tcp(), nas.volumes)
    report = edit.create("two", "1M", tcp(secrets=(SECRET,)), nas.volumes)
    assert report.volume is not None
    assert report.volume.export is not None
    assert (report.volume.export.port, report.volume.addresses, report.volume.problem) == (4421, ["10.0.0.2"], None)
    assert report.volume.authenticated
    assert SECRET not in report.model_dump_json()
    assert SECRET not in paths.volumes_file().read_text()
    assert "add element inet millrace volume_ports { 4420, 4421 }" in nas.rules
    assert "add element inet millrace volume_hosts4 { 10.0.0.9/32 . 4420, 10.0.0.9/32 . 4421 }" in nas.rules
    assert (nas.root / "srv/pool" / paths.VOLUMES / "exports.json").stat().st_mode & 0o777 == 0o600
    assert paths.volumes_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("addresses", "error", "sentence"),
    [
        ((), BadInput, "volume tank needs the address of its host: --address with an address or a network"),
        (("gpu-7",), BadInput, "'gpu-7' is not a network"),
        (("10.0.0.9", "10.9.0.1"), Refused, "10.9.0.1/32 is in no client network, and volumes are served in client"),
        (("10.0.0.0/16",), Refused, "10.0.0.0/16 is in no client network"),
    ],
)
def test_volume_is_for_named_addresses_of_the_client_networks(
    nas: Nas, addresses: tuple[str, ...], error: type[MillraceError], sentence: str
) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        edit.create("tank", "1M", tcp(addresses=addresses), nas.volumes)
    assert nas.tree.attributes == {}


def test_volume_of_a_host_with_a_secret_is_not_served_where_the_kernel_does_not_ask_for_it(nas: Nas) -> None:
    edit.create("open", "1M", tcp(OTHER), nas.volumes)
    nas.asks = False
    with pytest.raises(Refused, match="volume tank is not served: the kernel does not ask hosts for their secret"):
        edit.create("tank", "1M", tcp(secrets=(SECRET,)), nas.volumes)
    assert [*shown(nas)] == ["open"]
    assert shown(nas)["open"].problem is None


def test_volume_with_a_secret_is_withdrawn_when_the_image_has_the_kernel_of_debian(nas: Nas) -> None:
    """After an update to an image that was built with --stock-modules."""
    edit.create("tank", "1M", tcp(secrets=(SECRET,)), nas.volumes)
    nas.asks, nas.tree = False, type(nas.tree)()
    serve.render(nas.volumes())
    assert nas.tree.names("subsystems") == []
    assert shown(nas)["tank"].problem == serve.UNENFORCED


def test_identity_is_the_same_after_a_reboot(nas: Nas) -> None:
    edit.create("tank", "1M", tcp(), nas.volumes)
    before, tree = shown(nas)["tank"], nas.tree
    nas.tree = type(tree)()
    assert serve.render(nas.volumes()) == []
    assert shown(nas)["tank"] == before
    assert nas.tree.attributes == tree.attributes


@pytest.mark.parametrize(
    ("name", "size", "order", "sentence"),
    [
        ("Tank", "1M", None, "'Tank' cannot be the name of a volume"),
        ("../x", "1M", None, "'../x' cannot be the name of a volume"),
        ("tank", "none", None, "'none' is not the size of a volume"),
        ("tank", "4K", None, "'4K' is not the size of a volume"),
        ("tank", "900P", None, "volume tank needs"),
        ("tank", "1M", tcp("nqn.bad"), "'nqn.bad' is not an NQN"),
        ("tank", "1M", tcp("nqn.2014-08.org:a/b"), "'nqn.2014-08.org:a/b' is not an NQN"),
        ("tank", "1M", tcp(HOST, HOST), "a host is named twice"),
        ("tank", "1M", tcp(HOST, OTHER), "volume tank would be written by 2 hosts"),
        ("tank", "1M", tcp(secrets=(SECRET, SECRET)), "1 hosts are named and 2 secrets given"),
        ("tank", "1M", tcp(secrets=("DHHC-1:00:AAAA:",)), "a DH-HMAC-CHAP secret is one line"),
        (
            "tank",
            "1M",
            replace(tcp(), transport="rdma"),
            "volume tank cannot be exported over RDMA: this server has no",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_made(
    nas: Nas, name: str, size: str, order: VolumeOrder | None, sentence: str
) -> None:
    with pytest.raises(MillraceError, match="^" + re.escape(sentence)) as refused:
        edit.create(name, size, order, nas.volumes)
    assert "\n" not in str(refused.value)
    assert "AAAA" not in str(refused.value)
    assert serve.rows(nas.volumes()) == []
    assert nas.quotas == {}


def test_full_pool_leaves_nothing(nas: Nas) -> None:
    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    nas.xfs = replace(nas.xfs, allocate=full)
    with pytest.raises(Refused, match="volume tank is not created: No space left on device; nothing of it remains"):
        edit.create("tank", "1M", tcp(), nas.volumes)
    assert serve.rows(nas.volumes()) == []
    assert list((nas.root / "srv/pool" / paths.VOLUMES / "stage").iterdir()) == []
    assert not (nas.root / "srv/pool" / paths.VOLUMES / "exports.json").exists()
    assert set(nas.quotas.values()) == {0}


def test_volume_that_no_address_serves_is_not_created(nas: Nas) -> None:
    nas.tree.unusable = {"10.0.0.2"}
    with pytest.raises(Refused, match="volume tank is not served: it listens on no address; nothing was changed"):
        edit.create("tank", "1M", tcp(), nas.volumes)
    assert serve.rows(nas.volumes()) == []
    assert nas.tree.attributes == {}


def test_volume_is_closed_without_a_client_network(nas: Nas) -> None:
    nas.server = lambda *_: replace(Nas.server(nas), context=replace(Nas.server(nas).context, networks=[]))  # type: ignore[method-assign]
    with pytest.raises(Refused, match="volumes are closed until a client network is confirmed"):
        edit.create("tank", "1M", tcp(), nas.volumes)


@pytest.mark.parametrize(("transport", "words"), [("tcp", "hosts at 10.0.0.9/32 cannot connect"), ("rdma", None)])
def test_volume_whose_hosts_left_the_client_networks_says_so(nas: Nas, transport: str, words: str | None) -> None:
    edit.create("tank", "1M", tcp(), nas.volumes)
    exports = nas.volumes().store.exports()
    changed = {uuid: export.model_copy(update={"transport": transport}) for uuid, export in exports.volumes.items()}
    nas.volumes().store.save_exports(exports.model_copy(update={"volumes": changed}))
    serve.render(nas.volumes())
    other = replace(Nas.server(nas), context=replace(Nas.server(nas).context, networks=["10.7.0.0/16"]))
    nas.server = lambda *_: other  # type: ignore[method-assign]
    problem = shown(nas)["tank"].problem
    assert problem is None if words is None else problem is not None and problem.startswith(words)


def test_volume_grows_while_its_host_is_connected(nas: Nas) -> None:
    edit.create("tank", "1M", tcp(), nas.volumes)
    nas.connect(4420)
    report = edit.resize("tank", "4M", nas.volumes)
    assert report.volume is not None
    assert (report.volume.size, report.volume.allocated) == (4 * MIB, 4 * MIB)
    assert list(nas.tree.sizes.values()) == [4 * MIB]
    assert nas.tree.dropped == []


@pytest.mark.parametrize(("size", "sentence"), [("1M", "cannot shrink"), ("2M", "has 2.1 MB already")])
def test_volume_does_not_shrink(nas: Nas, size: str, sentence: str) -> None:
    edit.create("tank", "2M", None, nas.volumes)
    with pytest.raises(Refused, match=sentence):
        edit.resize("tank", size, nas.volumes)
    assert shown(nas)["tank"].size == 2 * MIB


def test_volume_that_cannot_grow_stays_as_it_is(nas: Nas) -> None:
    edit.create("tank", "2M", None, nas.volumes)
    quotas = dict(nas.quotas)

    def full(descriptor: int, offset: int, length: int) -> None:
        os.ftruncate(descriptor, 3 * MIB)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    nas.xfs = replace(nas.xfs, allocate=full)
    with pytest.raises(Refused, match="volume tank stays as it is: No space left on device"):
        edit.resize("tank", "4M", nas.volumes)
    assert shown(nas)["tank"].size == 2 * MIB
    assert nas.quotas == quotas


def test_removal_on_a_full_pool_frees_the_blocks_before_it_writes(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tank", "other"):
        edit.create(name, "1M", tcp(), nas.volumes)
    stage = nas.root / "srv/pool" / paths.VOLUMES / "stage"
    write = store.write_model

    def full(path: Path, document: Exports, mode: int) -> None:
        if list(stage.iterdir()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, document, mode)

    monkeypatch.setattr(store, "write_model", full)
    edit.remove("tank", "tank", nas.volumes)
    assert list(shown(nas)) == ["other"] and shown(nas)["other"].problem is None


def test_connected_volume_is_neither_removed_nor_detached_nor_given_to_another_host(nas: Nas) -> None:
    edit.create("tank", "1M", tcp(), nas.volumes)
    nas.connect(4420)
    doings: tuple[Callable[[], object], ...] = (
        lambda: edit.remove("tank", "tank", nas.volumes),
        lambda: edit.detach("tank", False, nas.volumes),
        lambda: edit.export_volume("tank", tcp(OTHER), nas.volumes),
    )
    for doing in doings:
        with pytest.raises(Refused, match=r"volume tank is connected by 10\.0\.0\.9: disconnect it there first"):
            doing()
    assert shown(nas)["tank"].problem is None
    edit.detach("tank", True, nas.volumes)
    assert shown(nas)["tank"].export is None


def test_connection_to_another_volume_does_not_hold_this_one(nas: Nas) -> None:
    edit.create("one", "1M", tcp(), nas.volumes)
    edit.create("two", "1M", tcp(), nas.volumes)
    nas.connect(4421)
    edit.remove("one", "one", nas.volumes)
    assert [one.address for one in shown(nas)["two"].connected] == ["10.0.0.9"]


def test_last_export_that_ends_leaves_nothing_behind(nas: Nas) -> None:
    edit.create("tank", "1M", tcp(secrets=(SECRET,)), nas.volumes)
    report = edit.remove("tank", "tank", nas.volumes)
    assert report.volume is None
    assert (nas.tree.attributes, nas.tree.links, nas.up) == ({}, {}, False)
    assert "add element" not in nas.rules
    top = nas.root / "srv/pool" / paths.VOLUMES
    assert sorted(path.name for path in top.rglob("*")) == ["stage", "volumes"]
    assert not paths.volumes_file().exists()
    assert set(nas.quotas.values()) == {0}


def test_removal_needs_the_name_again(nas: Nas) -> None:
    edit.create("tank", "1M", None, nas.volumes)
    with pytest.raises(BadInput, match="nothing was removed"):
        edit.remove("tank", "tonk", nas.volumes)
    assert "tank" in shown(nas)


def test_new_volume_of_an_old_name_is_not_exported_to_the_hosts_of_the_old_one(nas: Nas) -> None:
    edit.create("tank", "1M", tcp(), nas.volumes)
    volumes = nas.volumes()
    # a power cut right after the volume was gone
    volumes.store.retire("tank")
    edit.create("tank", "1M", None, nas.volumes)
    assert serve.render(nas.volumes()) == []
    assert shown(nas)["tank"].export is None
    assert nas.tree.names("subsystems") == []


def test_clone_has_the_data_and_an_identity_of_its_own(nas: Nas) -> None:
    edit.create("tank", "1M", tcp(), nas.volumes)
    nas.volumes().store.data("tank").write_bytes(b"x" * MIB)
    nas.connect(4420)
    edit.clone("tank", "copy", nas.volumes)
    volumes = shown(nas)
    assert nas.volumes().store.data("copy").read_bytes() == b"x" * MIB
    assert volumes["copy"].origin == volumes["tank"].uuid
    assert volumes["copy"].nqn != volumes["tank"].nqn
    assert volumes["copy"].export is None
    assert len(set(nas.quotas)) == 2
    with pytest.raises(Refused, match="volume copy already exists"):
        edit.clone("tank", "copy", nas.volumes)


def test_what_a_host_discarded_is_allocated_again(nas: Nas) -> None:
    edit.create("tank", "2M", tcp(), nas.volumes)
    path = nas.volumes().store.data("tank")
    os.truncate(path, 0)
    os.truncate(path, 2 * MIB)
    assert shown(nas)["tank"].allocated == 0
    assert serve.render(nas.volumes()) == []
    assert shown(nas)["tank"].allocated == 2 * MIB


def test_what_cannot_be_allocated_again_is_a_problem(nas: Nas) -> None:
    edit.create("tank", "2M", tcp(), nas.volumes)
    os.truncate(nas.volumes().store.data("tank"), 0)
    os.truncate(nas.volumes().store.data("tank"), 2 * MIB)

    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    nas.xfs = replace(nas.xfs, allocate=full)
    assert serve.render(nas.volumes()) == ["volume tank has 0 B of its 2.1 MB allocated: No space left on device"]
    # the size is never touched: a host would lose what is at its end
    assert shown(nas)["tank"].size == 2 * MIB


def test_connections_over_rdma_are_counted(nas: Nas) -> None:
    (nas.root / "sys/class/infiniband/rxe0").mkdir(parents=True)
    nas.broken["rdma"] = Result(0, "[]", "")
    edit.create("tank", "1M", replace(tcp(), transport="rdma"), nas.volumes)
    assert "volume_ports {" not in nas.rules.split("flush")[-1]
    nas.broken["rdma"] = Result(
        0,
        '[{"ifname":"rxe0","state":"CONNECT","ps":"TCP","src-addr":"10.0.0.2","src-port":4420,"dst-addr":"10.0.0.9",'
        '"dst-port":4711},{"ifname":"rxe0","state":"LISTEN","src-addr":"10.0.0.2","src-port":4420}]',
        "",
    )
    with pytest.raises(Refused, match=r"is connected by 10\.0\.0\.9"):
        edit.remove("tank", "tank", nas.volumes)
    nas.broken["rdma"] = Result(1, "", "not supported")
    with pytest.raises(Refused, match="whether a host is connected to volume tank is not known"):
        edit.remove("tank", "tank", nas.volumes)


class Power:
    """Ends the process at one of the moments at which something becomes durable or is served."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        self.steps = 0
        for name in ("mkdir", "rename", "replace", "fsync", "unlink", "open", "posix_fallocate"):
            monkeypatch.setattr(os, name, self._cut(getattr(os, name)))

    def _cut(self, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **more: object) -> object:
            self.steps += 1
            if self.left is not None:
                if self.left <= 0:
                    raise Killed
                self.left -= 1
            return function(*arguments, **more)

        return call


CHANGES: dict[str, Callable[[Nas], object]] = {
    "create": lambda nas: edit.create("new", "1M", tcp(), nas.volumes),
    "resize": lambda nas: edit.resize("tank", "2M", nas.volumes),
    "clone": lambda nas: edit.clone("tank", "new", nas.volumes),
    "remove": lambda nas: edit.remove("tank", "tank", nas.volumes),
    "export": lambda nas: edit.export_volume("tank", tcp(OTHER), nas.volumes),
    "detach": lambda nas: edit.detach("tank", False, nas.volumes),
}


@pytest.mark.parametrize("change", CHANGES)
def test_power_cut_at_any_step_leaves_the_old_or_the_new(
    change: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def server() -> Nas:
        root = tmp_path_factory.mktemp("server")
        monkeypatch.setattr(paths, "ROOT", root)
        nas = Nas(root)
        edit.create("tank", "1M", tcp(), nas.volumes)
        nas.volumes().store.data("tank").write_bytes(b"x" * MIB)
        return nas

    def state(nas: Nas) -> dict[str, tuple[int, bytes, list[str]]]:
        data = nas.volumes().store.data
        return {
            name: (one.size, data(name).read_bytes()[:MIB], one.export.hosts if one.export else [])
            for name, one in shown(nas).items()
        }

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with monkeypatch.context() as patch:
        nas = server()
        old = state(nas)
        power = Power(patch)
        CHANGES[change](nas)
        total, power.left = power.steps, None
        new = state(nas)
    assert old != new
    seen = []
    for moment in range(0, total, max(1, total // 24)):
        nas = server()
        with monkeypatch.context() as patch:
            power = Power(patch)
            power.left = moment
            with pytest.raises(Killed):
                CHANGES[change](nas)
        # the next boot: another kernel, the sweep and the unit
        nas.tree = type(nas.tree)()
        volumes = nas.volumes()
        volumes.store.sweep(volumes.run)
        assert serve.render(volumes) == []
        current = state(nas)
        assert current in (old, new), moment
        assert all(volume.problem is None for volume in shown(nas).values())
        stage = volumes.store.top / "stage"
        assert list(stage.iterdir()) == []
        seen.append(current == new)
    # once it is the new one it stays the new one
    assert seen == sorted(seen)
