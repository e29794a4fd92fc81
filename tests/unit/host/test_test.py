# SPDX-License-Identifier: Apache-2.0
"""`tools/test` ends with a count of all tests; lanes run beside each other."""

import os
import subprocess
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from host.junit import Count
from host.layout import REPO
from host.minutes import Minutes, Spent
from host.test import (
    BESIDE,
    BY_HAND,
    LAST,
    MEMORY_OF_THREE,
    MEMORY_OF_TWO,
    NICE,
    PARTS,
    Lane,
    Step,
    building,
    lanes,
    run_beside,
    run_step,
)
from millrace.system.errors import Failed


def test_what_is_run_beside_needs_a_larger_host_and_no_test_is_left_out() -> None:
    marks = dict.fromkeys(("vm", "kernel", "perf"), ("-m", "not soak"))
    alone = [Lane([Step(part, (f"tests/{part}", *marks.get(part, ()))) for part in PARTS])]
    assert lanes(PARTS, MEMORY_OF_TWO - 1, 2) == alone
    assert lanes(PARTS, MEMORY_OF_THREE, 1) == alone
    main, beside, last = lanes(PARTS, MEMORY_OF_THREE, 2)
    assert [step.part for step in main.steps] == ["unit", "docs", "pages", "image", "browser", "vm"]
    ignored = ("--ignore=tests/vm/shares", "--ignore=tests/vm/drives")
    assert (main.before, main.steps[-1].selection) == ((), ("tests/vm", "-m", "not soak", *ignored))
    assert beside == Lane([Step("vm", ("tests/vm/shares", "tests/vm/drives", "-m", "not soak"))], BESIDE)
    assert last == Lane([Step(part, (f"tests/{part}", "-m", "not soak")) for part in ("kernel", "perf")], LAST)


def test_what_does_not_fit_beside_two_comes_after_one_of_them() -> None:
    main, beside = lanes(PARTS, MEMORY_OF_THREE - 1, 2)
    assert [step.part for step in main.steps] == ["unit", "docs", "pages", "image", "browser", "vm"]
    assert [step.part for step in beside.steps] == ["vm", "kernel", "perf"]


def test_a_part_that_is_named_alone_is_run_alone() -> None:
    for part, selection in {"perf": ("tests/perf", "-m", "not soak"), "unit": ("tests/unit",)}.items():
        assert lanes([part], MEMORY_OF_THREE, 2) == [Lane([Step(part, selection)])]


def test_stories_that_a_whole_run_leaves_out_are_run_by_hand() -> None:
    marked = [Step("soak", (f"tests/{part}", "-m", "soak")) for part in ("vm", "kernel", "perf")]
    assert lanes(["soak"], MEMORY_OF_THREE, 2) == [Lane([Step("soak", ("tests/soak",)), *marked])]


def test_what_is_run_by_hand_is_no_part_of_a_whole_run() -> None:
    assert not set(BY_HAND) & set(PARTS)
    for part in BY_HAND:
        assert list((REPO / "tests" / part).glob("test_*.py"))


NOWHERE = Lane([Step("unit", ("tests/nowhere",)), Step("unit", ("tests/nowhere-either",))], BESIDE)


def test_what_fails_beside_is_counted(capfd: pytest.CaptureFixture[str]) -> None:
    with run_beside([NOWHERE, NOWHERE], {}, Minutes()) as counts:
        pass
    assert counts == [Count(failed=1)] * 4
    assert capfd.readouterr().out.count("== tests/nowhere-either (") == 2


def test_what_is_run_beside_is_nicer(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[list[str]] = []

    def start(argv: list[str], **more: Any) -> "subprocess.Popen[bytes]":
        begun.append(argv)
        return subprocess.Popen(["true"], **more)

    monkeypatch.setattr("host.test.subprocess", SimpleNamespace(Popen=start))
    with run_beside([Lane(NOWHERE.steps[:1], LAST)], {}, Minutes()):
        pass
    assert [argv[:3] for argv in begun] == [["nice", "-n", "10"]]


def test_after_an_interrupt_nothing_more_is_begun_beside() -> None:
    with pytest.raises(KeyboardInterrupt), run_beside([Lane(NOWHERE.steps * 25)], {}, Minutes()) as counts:
        raise KeyboardInterrupt
    assert len(counts) < 50


def test_tests_of_an_image_wait_for_it_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    appliance, client = Future[None](), Future[None]()
    begun: list[str] = []

    def tested(step: Step, before: tuple[str, ...] = (), spent: Spent | None = None) -> Count:
        assert spent is not None
        begun.append(step.part)
        return Count(1)

    monkeypatch.setattr("host.test.tested", tested)
    monkeypatch.setattr("host.test.checked", lambda *_: Count(1))
    with run_beside(
        [Lane([Step("vm", ()), Step("perf", ())])], {"vm": client, "image": appliance}, Minutes()
    ) as counts:
        run_step(Step("unit", ()), {"vm": client, "image": appliance}, Minutes())
        before = list(begun)
        client.set_result(None)
    assert before == ["unit"]
    assert (begun, counts) == (["unit", "vm", "perf"], [Count(1), Count(1)])


def test_a_build_is_nicer_than_the_tests_that_run_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int]] = []
    before = os.nice(0)
    monkeypatch.setattr("host.test.build.build_appliance", lambda stock: seen.append(("appliance", os.nice(0))))
    monkeypatch.setattr("host.test.build.build_client", lambda: seen.append(("client", os.nice(0))))
    with building(["unit", "vm"]) as images:
        images["vm"].result()
    nicer = min(19, before + NICE)
    assert (seen, os.nice(0)) == ([("appliance", nicer), ("client", nicer)], before)


def test_nothing_is_built_for_what_needs_no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("host.test.build.build_appliance", lambda stock: pytest.fail("it is built"))
    with building(["unit", "pages"]) as images:
        assert images == {}


@pytest.mark.parametrize("part", ["vm", "soak"])
def test_stories_with_clients_wait_for_the_image_of_the_client(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    built: list[str] = []
    monkeypatch.setattr("host.test.build.build_appliance", lambda stock: built.append("appliance"))
    monkeypatch.setattr("host.test.build.build_client", lambda: built.append("client"))
    with building([part]) as images:
        images[part].result()
    assert built == ["appliance", "client"]


@pytest.mark.parametrize("stock", [True, False])
def test_image_has_the_modules_that_are_asked_for(monkeypatch: pytest.MonkeyPatch, stock: bool) -> None:
    built: list[bool] = []
    monkeypatch.setattr("host.test.build.build_appliance", lambda **given: built.append(given["stock"]))
    with building(["image"], stock) as images:
        images["image"].result()
    assert built == [stock]


def test_an_image_that_cannot_be_built_ends_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(stock: bool) -> None:
        raise Failed("mkosi failed")

    monkeypatch.setattr("host.test.build.build_appliance", fail)
    monkeypatch.setattr("host.test.build.build_client", lambda: pytest.fail("the client is built all the same"))
    steps = [Lane([Step("vm", ())])]
    with building(["vm"]) as images:
        with pytest.raises(Failed, match="mkosi failed"), run_beside(steps, images, Minutes()) as counts:
            pass
        assert counts == []
        with pytest.raises(Failed, match="mkosi failed"):
            run_step(Step("image", ()), images, Minutes())
