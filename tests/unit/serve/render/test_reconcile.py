# SPDX-License-Identifier: Apache-2.0
"""Files are rendered once, written where they differ, and kept where they were edited by hand."""

from pathlib import Path

import pytest

from millrace.serve.render import rendered
from millrace.serve.render.reconcile import compare, settle
from millrace.serve.render.registry import FileEntry, RenderedService, Settled
from millrace.system.errors import Failed
from tests.unit.serve.render.readers import ONE, TWO, Readers, refuse


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
        patch.setattr("millrace.serve.render.reconcile._afterwards", lambda *arguments: rendered.load().files)
        settle([readers.service("a.service", readers.entry(ONE, "2", check=killed))], force=True)
    assert settle([readers.service("a.service", readers.entry(ONE, "3"))], force=False).edited == []
    assert (root / ONE).read_text() == "3"
    assert len(list(rendered.aside_dir().iterdir()) if rendered.aside_dir().exists() else []) == edited


def test_service_that_a_kill_left_without_its_reload_is_reloaded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers()

    def killed(settled: Settled) -> bool:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("millrace.serve.render.reconcile._afterwards", lambda *arguments: rendered.load().files)
        settle([RenderedService("a.service", [readers.entry(ONE, "1")], killed)], force=False)
    assert (root / ONE).read_text() == "1" and rendered.edited() == []
    again = [readers.service("a.service", readers.entry(ONE, "1"))]
    assert settle(again, force=False).reloaded == ["a.service"]
    assert settle(again, force=False).reloaded == []


def test_service_that_could_not_be_reloaded_is_reloaded_by_the_next_rendering(root: Path) -> None:
    readers = Readers()

    def fails(settled: Settled) -> bool:
        raise Failed("a.service is on fire")

    with pytest.raises(Failed):
        settle([RenderedService("a.service", [readers.entry(ONE, "1")], fails)], force=False)
    assert rendered.edited() == []
    assert settle([readers.service("a.service", readers.entry(ONE, "1"))], force=False).reloaded == ["a.service"]


def test_service_not_reloaded_after_a_removal_is_reloaded_by_the_next_rendering(root: Path) -> None:
    readers = Readers()
    settle([readers.service("a.service", readers.entry(ONE, "1"))], force=False)

    def fails(settled: Settled) -> bool:
        raise Failed("a.service is on fire")

    gone = readers.entry(ONE, "", when=False)
    with pytest.raises(Failed):
        settle([RenderedService("a.service", [gone], fails)], force=False)
    assert not (root / ONE).exists() and rendered.edited() == []
    assert settle([readers.service("a.service", gone)], force=False).reloaded == ["a.service"]
    assert rendered.load().files == {}


def test_a_link_leads_where_its_entry_says_and_is_not_followed(root: Path) -> None:
    (root / "etc").mkdir()
    (root / "etc/other").write_text("kept")
    (root / ONE).symlink_to("other")
    entry = FileEntry(ONE, lambda: "/var/lib/set/server.pem", recorded=False, link=True)
    [difference] = compare([RenderedService("", [entry])])
    assert (difference.found, difference.wanted) == (b"other", b"/var/lib/set/server.pem")
    assert settle([RenderedService("", [entry])], force=True).changed == [ONE]
    assert str((root / ONE).readlink()) == "/var/lib/set/server.pem" and (root / "etc/other").read_text() == "kept"
    assert settle([RenderedService("", [entry])], force=True).changed == []
    assert not rendered.record_file().exists()


def test_a_file_has_the_mode_of_its_entry(root: Path) -> None:
    entries = [FileEntry(ONE, lambda: "1"), FileEntry(TWO, lambda: "2", mode=0o600)]
    settle([RenderedService("a.service", entries)], force=False)
    assert [(root / path).stat().st_mode & 0o777 for path in (ONE, TWO)] == [0o644, 0o600]


def test_a_text_is_checked_before_it_is_written_and_only_where_it_changes(root: Path) -> None:
    checked: list[tuple[str, bool]] = []

    def check(text: str) -> None:
        checked.append((text, (root / ONE).exists()))

    for text in ("1", "1", "2"):
        settle([RenderedService("a.service", [FileEntry(ONE, lambda text=text: text, check=check)])], force=False)
    assert checked == [("1", False), ("2", True)]


def test_a_file_that_is_also_written_by_others_is_replaced_without_a_copy(root: Path) -> None:
    entry = FileEntry(ONE, lambda: "1", recorded=False)
    assert settle([RenderedService("", [entry])], force=False).changed == [ONE]
    (root / ONE).write_text("theirs")
    assert settle([RenderedService("", [entry])], force=False) == Settled(changed=[ONE])
    assert (root / ONE).read_text() == "1"
    assert not rendered.aside_dir().exists() and rendered.load().files == {}


def test_a_file_that_was_deleted_by_hand_is_written_again(root: Path) -> None:
    services = [RenderedService("a.service", [FileEntry(ONE, lambda: "1")])]
    settle(services, force=False)
    (root / ONE).unlink()
    assert rendered.edited() == [ONE]
    assert settle(services, force=False) == Settled(changed=[ONE])
    assert rendered.edited() == [] and (root / ONE).read_text() == "1"


def test_an_edit_that_says_what_is_wanted_is_none(root: Path) -> None:
    settle([RenderedService("a.service", [FileEntry(ONE, lambda: "1")])], force=False)
    (root / ONE).write_text("2")
    assert settle([RenderedService("a.service", [FileEntry(ONE, lambda: "2")])], force=False) == Settled()
    assert rendered.edited() == []
    # and from then on it is ours
    (root / ONE).write_text("3")
    assert settle([RenderedService("a.service", [FileEntry(ONE, lambda: "2")])], force=False).kept == [ONE]


def test_a_link_in_the_place_of_a_file_is_compared_by_what_is_there(root: Path) -> None:
    (root / "etc").mkdir()
    (root / ONE).write_text("a file")
    entry = FileEntry(ONE, lambda: "two.conf", link=True)
    assert compare([RenderedService("", [entry])])[0].found == b"a file"
    settle([RenderedService("", [entry])], force=True)
    assert str((root / ONE).readlink()) == "two.conf"
    # one that leads nowhere is as it should be all the same
    assert compare([RenderedService("", [entry])])[0].differs is False
    (root / ONE).unlink()
    assert compare([RenderedService("", [entry])])[0].found is None


def test_a_link_that_leads_to_the_same_text_is_no_edit(root: Path) -> None:
    services = [RenderedService("a.service", [FileEntry(ONE, lambda: "1")])]
    settle(services, force=False)
    (root / ONE).rename(root / TWO)
    (root / ONE).symlink_to("two.conf")
    assert settle(services, force=False) == Settled() and (root / ONE).is_symlink()
