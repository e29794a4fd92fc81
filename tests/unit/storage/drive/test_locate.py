# SPDX-License-Identifier: Apache-2.0
"""A drive is found by its LED, and one that does not answer holds nobody."""

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.cli import program
from millrace.inventory.collect import collect
from millrace.storage.array.machine import Linux
from millrace.storage.drive import locate
from millrace.storage.drive.leds import led_of
from millrace.system import paths, sysfs
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.fakes.files.trees import Tree, booted, nothing_found
from tests.fakes.tools import stand_in

SERIAL, NAME = "S6XYZ123", "nvme0n1"


class Manager(Commands):
    """systemd."""

    TAKEN = (
        f"systemctl start millrace-locate@{NAME}:3.service",
        f"systemctl stop --no-block millrace-locate@{NAME}:*.service",
    )


class Server:
    """A server with one drive whose reads are counted; `during` happens at each wait."""

    def __init__(self, tree: Tree, manager: Manager) -> None:
        self.tree, self.manager = tree, manager
        self.waited = 0.0
        self.during: Callable[[], None] = lambda: self.stat(100)
        self.led = tree.root / "sys/class/enclosure/0:0:1:0/7/locate"
        self.stat(10)

    def stat(self, reads: int) -> None:
        self.tree.write(f"sys/block/{NAME}/stat", f" {reads} 0 800 4 0 0 0 0 0 4 4\n")

    def wait(self, seconds: float) -> None:
        self.waited += seconds
        self.during()


@pytest.fixture
def server(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    manager = Manager()
    stand_in(monkeypatch, manager)
    tree = booted(root_user)
    tree.cpus(("0-1", ["0", "1"]))
    tree.nvme(0, SERIAL)
    write_model(paths.inventory_file(), collect(root_user, nothing_found))
    made = Server(tree, manager)
    monkeypatch.setattr(Linux, "wait", lambda self, seconds: made.wait(seconds))
    return made


def with_led(server: Server) -> Path:
    """The locate LED of the bay that the drive is in."""
    device = (server.tree.root / "sys/class/nvme/nvme0").resolve()
    server.tree.write(str(server.led.relative_to(server.tree.root)), "0\n")
    server.tree.write(str(server.led.with_name("slot").relative_to(server.tree.root)), "7\n")
    server.led.with_name("device").symlink_to(device)
    return server.led


def test_activity_led_blinks_for_its_seconds(server: Server) -> None:
    found = locate.locate(Linux(), SERIAL, 3, print)
    assert (found.by, found.reads, server.waited) == ("activity LED", 90, 3.0)
    assert [line.split()[1] for line in server.manager.called("systemctl")] == ["start", "stop"]


def test_locate_led_of_the_bay_is_lit_and_no_drive_is_read(server: Server) -> None:
    led = with_led(server)
    seen: list[str] = []
    server.during = lambda: seen.append(led.read_text())
    found = locate.locate(Linux(), SERIAL, 3, print)
    assert (found.by, found.bay, set(seen), led.read_text()) == ("locate LED", "7", {"1"}, "0")
    assert server.manager.calls == []


def with_slot(server: Server, text: str) -> Path:
    """The attention indicator of the slot that the drive is in."""
    server.tree.write("sys/bus/pci/slots/12/address", "0000:01:00\n")
    server.tree.write("sys/bus/pci/slots/12/attention", f"{text}\n")
    return server.tree.root / "sys/bus/pci/slots/12/attention"


@pytest.mark.parametrize(("before", "after"), [("0", "0"), ("1", "1"), ("2", "0")])
def test_attention_indicator_of_the_slot_blinks_and_shows_what_it_did_before(
    server: Server, before: str, after: str
) -> None:
    led = with_slot(server, before)
    seen: list[str] = []
    server.during = lambda: seen.append(led.read_text())
    found = locate.locate(Linux(), SERIAL, 3, print)
    assert (found.by, set(seen), led.read_text()) == ("locate LED", {"2"}, after)
    assert server.manager.calls == []


def test_indicator_of_a_slot_with_a_problem_is_not_switched_off(server: Server) -> None:
    led = with_slot(server, "1")
    locate.off(Linux(), SERIAL)
    assert led.read_text() == "1\n"
    led.write_text("2\n")
    locate.off(Linux(), SERIAL)
    assert led.read_text() == "0"


def test_indicators_behind_vmd_have_values_of_their_own(server: Server) -> None:
    led = with_slot(server, "15")
    driver = server.tree.root / "sys/bus/pci/drivers/vmd"
    driver.mkdir(parents=True)
    (server.tree.root / "sys/devices/pci0000:00/driver").symlink_to(driver)
    seen: list[str] = []
    server.during = lambda: seen.append(led.read_text())
    locate.locate(Linux(), SERIAL, 3, print)
    assert (set(seen), led.read_text()) == ({"7"}, "15")


def test_slot_of_a_card_with_several_drives_is_not_lit(server: Server) -> None:
    led = with_slot(server, "0")
    led.with_name("address").write_text("0000:00:00\n")
    assert locate.locate(Linux(), SERIAL, 3, print).by == "activity LED"
    assert led.read_text() == "0\n"


def test_slot_of_a_controller_with_drives_behind_it_is_not_lit(server: Server) -> None:
    with_slot(server, "0")
    controller = (server.tree.root / "sys/class/nvme/nvme0").resolve().parent.parent
    disk = controller / "host0/target0:0:0/0:0:0:0"
    disk.mkdir(parents=True)
    assert led_of(server.tree.root, disk) is None


def test_led_of_a_port_with_npem_is_lit(server: Server) -> None:
    led = server.tree.root / "sys/class/leds/0000:00:00.0:enclosure:locate/brightness"
    server.tree.write(led, "0\n")
    seen: list[str] = []
    server.during = lambda: seen.append(led.read_text())
    assert locate.locate(Linux(), SERIAL, 3, print).by == "locate LED"
    assert (set(seen), led.read_text()) == ({"1"}, "0")


def test_interrupted_verb_leaves_no_led_on(server: Server) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    server.during = interrupt
    with pytest.raises(KeyboardInterrupt):
        locate.locate(Linux(), SERIAL, 3, print)
    assert len(server.manager.called("systemctl stop")) == 1
    led = with_led(server)
    with pytest.raises(KeyboardInterrupt):
        locate.locate(Linux(), SERIAL, 3, print)
    assert led.read_text() == "0"


def test_drive_that_does_not_answer_is_reported(server: Server) -> None:
    server.during = lambda: None
    with pytest.raises(Failed, match=f"drive {SERIAL} has not answered a read in 3 s, so its LED did not blink"):
        locate.locate(Linux(), SERIAL, 3, print)
    assert len(server.manager.called("systemctl stop")) == 1


def test_led_is_switched_off(server: Server) -> None:
    led = with_led(server)
    led.write_text("1")
    assert (locate.off(Linux(), SERIAL).by, led.read_text()) == ("locate LED", "0")
    led.unlink()
    assert locate.off(Linux(), SERIAL).by == "activity LED"
    assert len(server.manager.called("systemctl stop")) == 2


def test_unit_that_does_not_start_is_an_error(server: Server) -> None:
    server.manager.broken = {"systemctl start": Result(1, "", "Failed to start\n")}
    with pytest.raises(Failed, match="Failed to start"):
        locate.locate(Linux(), SERIAL, 3, print)


def test_verb_says_which_led_it_was(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["drive", "locate", SERIAL, "--seconds", "3"]) == 0
    out = capsys.readouterr().out
    assert out == (
        f"drive {SERIAL}: the activity LED blinks for 3 s; Ctrl-C ends it\ndrive {SERIAL}: the activity LED was on\n"
    )
    with_led(server)
    assert program.run(["drive", "locate", SERIAL, "--seconds", "3"]) == 0
    assert capsys.readouterr().out.endswith(f"bay 7 ({SERIAL}): the locate LED was on\n")
    assert program.run(["drive", "locate", SERIAL, "--off", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["by"] == "locate LED"


@pytest.mark.parametrize(("options", "status"), [(["OTHER"], 1), ([SERIAL, "--seconds", "0"], 2)])
def test_what_cannot_be_located_is_refused(
    options: list[str], status: int, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run(["drive", "locate", *options]) == status
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert server.manager.calls == []


def test_without_root_nothing_is_lit(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1001)
    with pytest.raises(Refused, match="requires root"):
        locate.locate(Linux(), SERIAL, 3, print)


def refused(led: Path, monkeypatch: pytest.MonkeyPatch, value: str | None = None) -> None:
    """Let the kernel refuse what is written to an LED, or one value."""
    write = sysfs.write

    def refuse(path: Path, text: str) -> None:
        if path == led and value in (None, text):
            raise OSError(errno.ENODEV, "No such device")
        write(path, text)

    monkeypatch.setattr(sysfs, "write", refuse)


def test_slot_whose_light_the_kernel_does_not_switch_says_so_and_the_drive_blinks(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(with_led(server), monkeypatch)
    assert program.run(["drive", "locate", SERIAL, "--seconds", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "bay 7 has no light that the kernel can switch (No such device); its activity LED is tried",
        f"bay 7 ({SERIAL}): the activity LED blinks for 3 s; Ctrl-C ends it",
        f"bay 7 ({SERIAL}): the activity LED was on",
    ]
    assert program.run(["drive", "locate", SERIAL, "--off"]) == 1
    assert "bay 7 has no light that the kernel can switch (No such device)" in capsys.readouterr().err


def test_light_is_announced_when_it_is_on(server: Server) -> None:
    led = with_led(server)
    seen: list[tuple[str, str]] = []
    locate.locate(Linux(), SERIAL, 3, lambda line: seen.append((led.read_text(), line)))
    assert seen == [("1", f"bay 7 ({SERIAL}): the locate LED is on for 3 s; Ctrl-C ends it")]


def test_drive_that_does_not_answer_is_never_said_to_blink(server: Server) -> None:
    server.during = lambda: None
    said: list[str] = []
    with pytest.raises(Failed):
        locate.locate(Linux(), SERIAL, 3, said.append)
    assert said == []


def test_light_that_stays_on_is_reported_with_the_command(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(with_led(server), monkeypatch, "0")
    with pytest.raises(Failed, match=rf"cannot be switched off \(No such device\).* locate {SERIAL} --off"):
        locate.locate(Linux(), SERIAL, 3, print)
