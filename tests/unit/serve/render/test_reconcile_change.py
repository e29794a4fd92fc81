# SPDX-License-Identifier: Apache-2.0
"""A change takes effect part by part, and is put back where a part fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from millrace.serve.config.model import Config, DesiredPort, first_config
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.render.registry import Change, FileEntry, RenderedService, RenderPart, Settled
from millrace.system.errors import Failed, Refused

OLD = first_config()
NEW = OLD.model_copy(update={"ports": [DesiredPort(mac="52:54:00:00:00:01", name="lan0", addresses=["10.0.0.2/24"])]})


class Room(RenderPart):
    """A room with one file, which says how many ports a state has; `breaks` is where its change fails."""

    def __init__(self, name: str, log: list[str], breaks: str = "") -> None:
        self.name, self.log, self.breaks = name, log, breaks

    def prepare(self, change: Change) -> None:
        change.on_failure(lambda: self.log.append(f"{self.name} undone"))
        self._step("prepare")

    def services(self, config: Config) -> Sequence[RenderedService]:
        text = f"{len(config.ports)} ports"

        def reload(settled: Settled) -> bool:
            if settled.changed:
                self.log.append(f"{self.name} reloaded: {text}")
            return False

        return [RenderedService(f"{self.name}.service", [FileEntry(f"etc/{self.name}.conf", lambda: text)], reload)]

    def verify(self, change: Change) -> None:
        self._step("verify")
        change.verified.append(f"{self.name} serves")

    def finish(self, change: Change) -> None:
        self.log.append(f"{self.name} finished")

    def _step(self, name: str) -> None:
        if self.breaks == name:
            raise Failed(f"{self.name} does not {name}.")


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


def test_after_a_change_is_final_a_failure_is_a_warning(root: Path) -> None:
    @dataclass
    class Final(RenderPart):
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
    class Loud(RenderPart):
        def services(self, config: Config) -> Sequence[RenderedService]:
            def reload(settled: Settled) -> bool:
                settled.warnings.append("smbd knows no such option")
                return True

            return [RenderedService("smbd.service", [], reload)]

    done = Reconciliation([Loud()])
    done(OLD, NEW)
    assert done.warnings == ["smbd knows no such option"]


def test_files_that_cannot_be_put_back_are_said_and_the_other_parts_are_put_back(root: Path) -> None:
    log: list[str] = []

    class Once(Room):
        def services(self, config: Config) -> Sequence[RenderedService]:
            if config is OLD and self.log:
                raise Failed("a.service is on fire")
            return super().services(config)

    with pytest.raises(Refused) as error:
        Reconciliation([Once("a", log), Room("b", log, breaks="verify")])(OLD, NEW)
    assert str(error.value) == "b does not verify; and restoring the previous state failed: a.service is on fire"
    assert log[-3:] == ["b reloaded: 0 ports", "b undone", "a undone"]


def test_parts_are_given_both_states(root: Path) -> None:
    given: list[tuple[Config, Config]] = []

    class Compares(RenderPart):
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
