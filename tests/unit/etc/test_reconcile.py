# SPDX-License-Identifier: Apache-2.0
"""Files are rendered once, written where they differ, and put back where a change is not true."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace import paths
from millrace.errors import Failed, Refused
from millrace.etc import rendered
from millrace.etc.reconcile import Reconciliation, compare, settle
from millrace.etc.registry import Change, Entry, Part, Service, Settled
from millrace.state.model import Config, Port, first_config

ONE, TWO = "etc/one.conf", "etc/two.conf"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


@dataclass
class Readers:
    """Services that note what was rendered and with which changed files they were reloaded."""

    rendered: list[str] = field(default_factory=list)
    reloaded: list[tuple[str, list[str]]] = field(default_factory=list)

    def entry(self, path: str, text: str, when: bool = True, check: Callable[[str], None] | None = None) -> Entry:
        def render() -> str:
            self.rendered.append(path)
            return text

        return Entry(path, render, when=when, check=check)

    def service(self, unit: str, *entries: Entry) -> Service:
        def reload(settled: Settled) -> bool:
            mine = [one.path for one in entries if one.path in settled.changed]
            self.reloaded.append((unit, mine))
            return bool(mine)

        return Service(unit, entries, reload)


def refuse(text: str) -> None:
    raise Failed(f"{text} is not taken")


def test_each_file_is_rendered_once_and_each_service_reloaded_once(root: Path) -> None:
    readers = Readers()
    services = [
        readers.service("a.service", readers.entry(ONE, "1"), readers.entry(TWO, "2")),
        readers.service("b.service", readers.entry("etc/three.conf", "3")),
    ]
    settled = settle(services, force=False)
    assert readers.rendered == settled.changed == [ONE, TWO, "etc/three.conf"]
    assert readers.reloaded == [("a.service", [ONE, TWO]), ("b.service", ["etc/three.conf"])]
    assert settled.reloaded == ["a.service", "b.service"]
    assert (root / TWO).read_text() == "2"


def test_nothing_is_written_where_nothing_differs(root: Path) -> None:
    readers = Readers()
    services = [readers.service("a.service", readers.entry(ONE, "1"))]
    settle(services, force=False)
    record = rendered.record_file().stat().st_mtime_ns, (root / ONE).stat().st_ino
    assert settle(services, force=False) == Settled()
    assert record == (rendered.record_file().stat().st_mtime_ns, (root / ONE).stat().st_ino)


def test_comparing_writes_nothing(root: Path) -> None:
    readers = Readers()
    [difference] = compare([readers.service("a.service", readers.entry(ONE, "1"))])
    assert (difference.found, difference.wanted, difference.differs) == (None, b"1", True)
    assert list(root.iterdir()) == [] and readers.reloaded == []


def test_edit_by_hand_is_left_or_replaced_with_a_copy(root: Path) -> None:
    readers = Readers()
    settle([readers.service("a.service", readers.entry(ONE, "1"))], force=False)
    (root / ONE).write_bytes(b"mine \xff")
    later = [readers.service("a.service", readers.entry(ONE, "2"))]
    assert settle(later, force=False) == Settled(edited=[ONE], kept=[ONE])
    assert (root / ONE).read_bytes() == b"mine \xff" and rendered.edited() == [ONE]
    assert settle(later, force=True) == Settled([ONE], [ONE], [], ["a.service"])
    [copy] = rendered.aside_dir().iterdir()
    assert copy.name.startswith("one.conf.") and copy.read_text() == "mine \ufffd"
    assert (root / ONE).read_text() == "2" and rendered.edited() == []


def test_file_of_another_is_replaced_with_a_copy(root: Path) -> None:
    (root / "etc").mkdir()
    for path in (ONE, TWO):
        (root / path).write_text("theirs")
    readers = Readers()
    service = readers.service("a.service", readers.entry(ONE, "1"), readers.entry(TWO, "theirs"))
    assert settle([service], force=False).changed == [ONE]
    [copy] = rendered.aside_dir().iterdir()
    assert copy.name.startswith("one.conf.") and copy.read_text() == "theirs"
    settle([readers.service("a.service", readers.entry(ONE, "2"))], force=False)
    assert list(rendered.aside_dir().iterdir()) == [copy]


def test_file_that_is_not_wanted_goes_only_where_it_is_ours(root: Path) -> None:
    readers = Readers()
    named = "etc/systemd/network/40-millrace-1.network"
    for path in (ONE, TWO, named):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    settle([readers.service("a.service", readers.entry(ONE, "x"))], force=False)
    gone = [readers.entry(path, "", when=False) for path in (ONE, TWO, named)]
    settled = settle([readers.service("a.service", *gone)], force=False)
    assert settled.changed == [ONE, named] and rendered.load().files == {}
    assert (root / TWO).exists() and not (root / ONE).exists() and not (root / named).exists()


def test_text_that_its_service_refuses_stops_there(root: Path) -> None:
    readers = Readers()
    services = [
        readers.service("a.service", readers.entry(ONE, "1")),
        readers.service("b.service", readers.entry(TWO, "2", check=refuse)),
    ]
    with pytest.raises(Failed, match="2 is not taken"):
        settle(services, force=False)
    assert readers.reloaded == [("a.service", [ONE])]
    assert not (root / TWO).exists() and list(rendered.load().files) == [ONE]


def test_refused_text_leaves_an_edit_known_as_one(root: Path) -> None:
    readers = Readers()
    settle([readers.service("b.service", readers.entry(TWO, "1"))], force=False)
    (root / TWO).write_text("mine")
    with pytest.raises(Failed):
        settle([readers.service("b.service", readers.entry(TWO, "2", check=refuse))], force=True)
    assert (root / TWO).read_text() == "mine" and rendered.edited() == [TWO]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("edited", [False, True])
def test_kill_between_record_and_file_makes_no_edit_of_our_own_text(
    root: Path, monkeypatch: pytest.MonkeyPatch, edited: bool
) -> None:
    readers = Readers()
    settle([readers.service("a.service", readers.entry(ONE, "1"))], force=False)
    if edited:
        (root / ONE).write_text("mine")

    def killed(text: str) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        # A process that is killed cleans nothing up.
        patch.setattr("millrace.etc.reconcile._afterwards", lambda *arguments: rendered.load().files)
        settle([readers.service("a.service", readers.entry(ONE, "2", check=killed))], force=True)
    assert settle([readers.service("a.service", readers.entry(ONE, "3"))], force=False).edited == []
    assert (root / ONE).read_text() == "3"
    assert len(list(rendered.aside_dir().iterdir()) if rendered.aside_dir().exists() else []) == edited


def test_service_that_a_kill_left_without_its_reload_is_reloaded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers()

    def killed(settled: Settled) -> bool:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("millrace.etc.reconcile._afterwards", lambda *arguments: rendered.load().files)
        settle([Service("a.service", [readers.entry(ONE, "1")], killed)], force=False)
    assert (root / ONE).read_text() == "1" and rendered.edited() == []
    again = [readers.service("a.service", readers.entry(ONE, "1"))]
    assert settle(again, force=False).reloaded == ["a.service"]
    assert settle(again, force=False).reloaded == []


def test_service_that_could_not_be_reloaded_is_reloaded_by_the_next_rendering(root: Path) -> None:
    readers = Readers()

    def fails(settled: Settled) -> bool:
        raise Failed("a.service is on fire")

    with pytest.raises(Failed):
        settle([Service("a.service", [readers.entry(ONE, "1")], fails)], force=False)
    assert rendered.edited() == []
    assert settle([readers.service("a.service", readers.entry(ONE, "1"))], force=False).reloaded == ["a.service"]


def test_service_not_reloaded_after_a_removal_is_reloaded_by_the_next_rendering(root: Path) -> None:
    readers = Readers()
    settle([readers.service("a.service", readers.entry(ONE, "1"))], force=False)

    def fails(settled: Settled) -> bool:
        raise Failed("a.service is on fire")

    gone = readers.entry(ONE, "", when=False)
    with pytest.raises(Failed):
        settle([Service("a.service", [gone], fails)], force=False)
    assert not (root / ONE).exists() and rendered.edited() == []
    assert settle([readers.service("a.service", gone)], force=False).reloaded == ["a.service"]
    assert rendered.load().files == {}


class Room(Part):
    """A room with one file, which says how many ports a state has; `breaks` is where its change fails."""

    def __init__(self, name: str, log: list[str], breaks: str = "") -> None:
        self.name, self.log, self.breaks = name, log, breaks

    def prepare(self, change: Change) -> None:
        change.on_failure(lambda: self.log.append(f"{self.name} undone"))
        self._step("prepare")

    def services(self, config: Config) -> Sequence[Service]:
        text = f"{len(config.ports)} ports"

        def reload(settled: Settled) -> bool:
            if settled.changed:
                self.log.append(f"{self.name} reloaded: {text}")
            return False

        return [Service(f"{self.name}.service", [Entry(f"etc/{self.name}.conf", lambda: text)], reload)]

    def verify(self, change: Change) -> None:
        self._step("verify")
        change.verified.append(f"{self.name} serves")

    def finish(self, change: Change) -> None:
        self.log.append(f"{self.name} finished")

    def _step(self, name: str) -> None:
        if self.breaks == name:
            raise Failed(f"{self.name} does not {name}.")


OLD = first_config()
NEW = OLD.model_copy(update={"ports": [Port(mac="52:54:00:00:00:01", name="lan0", addresses=["10.0.0.2/24"])]})


def test_parts_come_one_after_the_other_and_finish_together(root: Path) -> None:
    log: list[str] = []
    done = Reconciliation([Room("a", log), Room("b", log)])
    done(OLD, NEW)
    assert log == ["a reloaded: 1 ports", "b reloaded: 1 ports", "a finished", "b finished"]
    assert done.verified == ["a serves", "b serves"] and done.warnings == []


def test_change_that_is_not_true_is_put_back_in_one_sentence(root: Path) -> None:
    log: list[str] = []
    Reconciliation([Room("a", log), Room("b", log)])(OLD, OLD)
    log.clear()
    with pytest.raises(Refused) as error:
        Reconciliation([Room("a", log), Room("b", log, breaks="verify"), Room("c", log)])(OLD, NEW)
    assert str(error.value) == "b does not verify; nothing was changed"
    assert log == [
        *("a reloaded: 1 ports", "b reloaded: 1 ports"),
        *("a reloaded: 0 ports", "b reloaded: 0 ports"),
        *("b undone", "a undone"),
    ]
    assert (root / "etc/a.conf").read_text() == "0 ports" and not (root / "etc/c.conf").exists()


def test_part_that_cannot_begin_writes_nothing(root: Path) -> None:
    log: list[str] = []
    with pytest.raises(Refused, match="a does not prepare; nothing was changed"):
        Reconciliation([Room("a", log, breaks="prepare")])(OLD, NEW)
    assert log == ["a undone"] and list(root.iterdir()) == []


def test_what_cannot_be_put_back_is_said_and_stops_nothing_else(root: Path) -> None:
    log: list[str] = []

    def stuck() -> None:
        raise OSError(5, "Input/output error", "/srv/pool/x")

    class Stuck(Room):
        def prepare(self, change: Change) -> None:
            super().prepare(change)
            change.on_failure(stuck)

    with pytest.raises(Refused, match=r"a does not verify; and restoring the previous state failed: /srv/pool/x fails"):
        Reconciliation([Stuck("a", log, breaks="verify")])(OLD, NEW)
    assert log[-1] == "a undone"


def test_error_of_the_program_is_no_refusal(root: Path) -> None:
    log: list[str] = []

    class Wrong(Room):
        def verify(self, change: Change) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Reconciliation([Wrong("a", log)])(OLD, NEW)
    assert log[-1] == "a undone"


def test_replaced_edit_is_a_warning(root: Path) -> None:
    log: list[str] = []
    Reconciliation([Room("a", log)])(OLD, OLD)
    (root / "etc/a.conf").write_text("mine")
    done = Reconciliation([Room("a", log)])
    done(OLD, NEW)
    assert done.warnings == ["/etc/a.conf was edited by hand; replaced, the edited file is kept"]


def test_a_link_leads_where_its_entry_says_and_is_not_followed(root: Path) -> None:
    (root / "etc").mkdir()
    (root / "etc/other").write_text("kept")
    (root / ONE).symlink_to("other")
    entry = Entry(ONE, lambda: "/var/lib/set/server.pem", recorded=False, link=True)
    [difference] = compare([Service("", [entry])])
    assert (difference.found, difference.wanted) == (b"other", b"/var/lib/set/server.pem")
    assert settle([Service("", [entry])], force=True).changed == [ONE]
    assert str((root / ONE).readlink()) == "/var/lib/set/server.pem" and (root / "etc/other").read_text() == "kept"
    assert settle([Service("", [entry])], force=True).changed == []
    assert not rendered.record_file().exists()


def test_after_a_change_is_final_a_failure_is_a_warning(root: Path) -> None:
    @dataclass
    class Final(Part):
        finished: bool = False

        def prepare(self, change: Change) -> None:
            change.on_failure(lambda: pytest.fail("nothing is put back"))
            change.final = True

        def verify(self, change: Change) -> None:
            raise Failed("shares do not open")

        def finish(self, change: Change) -> None:
            self.finished = True

    part = Final()
    done = Reconciliation([part])
    done(first_config(), first_config())
    assert done.warnings == ["shares do not open; see millrace health"] and part.finished


def test_a_file_has_the_mode_of_its_entry(root: Path) -> None:
    entries = [Entry(ONE, lambda: "1"), Entry(TWO, lambda: "2", mode=0o600)]
    settle([Service("a.service", entries)], force=False)
    assert [(root / path).stat().st_mode & 0o777 for path in (ONE, TWO)] == [0o644, 0o600]


def test_a_text_is_checked_before_it_is_written_and_only_where_it_changes(root: Path) -> None:
    checked: list[tuple[str, bool]] = []

    def check(text: str) -> None:
        checked.append((text, (root / ONE).exists()))

    for text in ("1", "1", "2"):
        settle([Service("a.service", [Entry(ONE, lambda text=text: text, check=check)])], force=False)
    assert checked == [("1", False), ("2", True)]


def test_a_file_that_is_also_written_by_others_is_replaced_without_a_copy(root: Path) -> None:
    entry = Entry(ONE, lambda: "1", recorded=False)
    assert settle([Service("", [entry])], force=False).changed == [ONE]
    (root / ONE).write_text("theirs")
    assert settle([Service("", [entry])], force=False) == Settled(changed=[ONE])
    assert (root / ONE).read_text() == "1"
    assert not rendered.aside_dir().exists() and rendered.load().files == {}


def test_a_file_that_was_deleted_by_hand_is_written_again(root: Path) -> None:
    services = [Service("a.service", [Entry(ONE, lambda: "1")])]
    settle(services, force=False)
    (root / ONE).unlink()
    assert rendered.edited() == [ONE]
    assert settle(services, force=False) == Settled(changed=[ONE])
    assert rendered.edited() == [] and (root / ONE).read_text() == "1"


def test_an_edit_that_says_what_is_wanted_is_none(root: Path) -> None:
    settle([Service("a.service", [Entry(ONE, lambda: "1")])], force=False)
    (root / ONE).write_text("2")
    assert settle([Service("a.service", [Entry(ONE, lambda: "2")])], force=False) == Settled()
    assert rendered.edited() == []
    # and from then on it is ours
    (root / ONE).write_text("3")
    assert settle([Service("a.service", [Entry(ONE, lambda: "2")])], force=False).kept == [ONE]


def test_a_link_in_the_place_of_a_file_is_compared_by_what_is_there(root: Path) -> None:
    (root / "etc").mkdir()
    (root / ONE).write_text("a file")
    entry = Entry(ONE, lambda: "two.conf", link=True)
    assert compare([Service("", [entry])])[0].found == b"a file"
    settle([Service("", [entry])], force=True)
    assert str((root / ONE).readlink()) == "two.conf"
    # one that leads nowhere is as it should be all the same
    assert compare([Service("", [entry])])[0].differs is False
    (root / ONE).unlink()
    assert compare([Service("", [entry])])[0].found is None


def test_an_edit_that_a_part_leaves_is_not_said_to_be_replaced(root: Path) -> None:
    log: list[str] = []
    room = Room("a", log)
    Reconciliation([room])(OLD, OLD)
    (root / "etc/a.conf").write_text("mine")
    room.force = False
    done = Reconciliation([room])
    done(OLD, NEW)
    assert done.warnings == [] and (root / "etc/a.conf").read_text() == "mine"


def test_what_a_service_complains_of_is_a_warning_of_the_change(root: Path) -> None:
    class Loud(Part):
        def services(self, config: Config) -> Sequence[Service]:
            def reload(settled: Settled) -> bool:
                settled.warnings.append("smbd knows no such option")
                return True

            return [Service("smbd.service", [], reload)]

    done = Reconciliation([Loud()])
    done(OLD, NEW)
    assert done.warnings == ["smbd knows no such option"]


def test_files_that_cannot_be_put_back_are_said_and_the_other_parts_are_put_back(root: Path) -> None:
    log: list[str] = []

    class Once(Room):
        def services(self, config: Config) -> Sequence[Service]:
            if config is OLD and self.log:
                raise Failed("a.service is on fire")
            return super().services(config)

    with pytest.raises(Refused) as error:
        Reconciliation([Once("a", log), Room("b", log, breaks="verify")])(OLD, NEW)
    assert str(error.value) == "b does not verify; and restoring the previous state failed: a.service is on fire"
    assert log[-3:] == ["b reloaded: 0 ports", "b undone", "a undone"]


def test_quotas_are_recorded_beside_the_files(root: Path) -> None:
    settle([Service("a.service", [Entry(ONE, lambda: "1")])], force=False)
    rendered.set_quotas({"data": "1g", "home": "2g"})
    rendered.set_quotas({"home": "3g"})
    record = rendered.load()
    assert record.quotas == {"data": "1g", "home": "3g"} and list(record.files) == [ONE]
    assert rendered.is_ours(ONE) and not rendered.is_ours(TWO)
    # and stay when a file changes
    settle([Service("a.service", [Entry(ONE, lambda: "2")])], force=False)
    assert rendered.load().quotas == record.quotas


@pytest.mark.parametrize("damage", [b"{", b"\xff\xfe", b""])
def test_a_damaged_record_is_an_empty_one(root: Path, damage: bytes) -> None:
    settle([Service("a.service", [Entry(ONE, lambda: "1")])], force=False)
    rendered.record_file().write_bytes(damage)
    assert rendered.load() == rendered.Rendered()


def test_a_copy_of_an_edit_is_for_root_only_and_named_by_its_time(root: Path) -> None:
    rendered.keep_aside("etc/samba/smb.conf", b"mine")
    [copy] = (root / "var/lib/millrace/replaced").iterdir()
    name, stamp = copy.name.rsplit(".", 1)
    assert name == "smb.conf" and copy.stat().st_mode & 0o777 == 0o600
    assert abs(datetime.now(UTC) - datetime.strptime(stamp + "+0000", "%Y%m%dT%H%M%SZ%z")) < timedelta(minutes=5)


def test_parts_are_given_both_states(root: Path) -> None:
    given: list[tuple[Config, Config]] = []

    class Compares(Part):
        def prepare(self, change: Change) -> None:
            given.append((change.old, change.new))

    Reconciliation([Compares()])(OLD, NEW)
    assert given == [(OLD, NEW)]


def test_an_edit_that_a_part_leaves_is_left_when_it_is_put_back(root: Path) -> None:
    log: list[str] = []
    Reconciliation([Room("a", log)])(OLD, OLD)
    (root / "etc/a.conf").write_text("mine")
    room = Room("a", log, breaks="verify")
    room.force = False
    with pytest.raises(Refused):
        Reconciliation([room])(OLD, NEW)
    assert (root / "etc/a.conf").read_text() == "mine"


def test_an_edit_while_a_change_is_made_is_replaced_when_it_is_put_back(root: Path) -> None:
    class Edited(Room):
        def verify(self, change: Change) -> None:
            (root / "etc/a.conf").write_text("mine")
            raise Failed("a does not verify")

    with pytest.raises(Refused, match="nothing was changed"):
        Reconciliation([Edited("a", [])])(OLD, NEW)
    assert (root / "etc/a.conf").read_text() == "0 ports"


def test_a_link_that_leads_to_the_same_text_is_no_edit(root: Path) -> None:
    services = [Service("a.service", [Entry(ONE, lambda: "1")])]
    settle(services, force=False)
    (root / ONE).rename(root / TWO)
    (root / ONE).symlink_to("two.conf")
    assert settle(services, force=False) == Settled() and (root / ONE).is_symlink()
