# SPDX-License-Identifier: Apache-2.0
"""The workflows run the commands of the tools, with least permissions, pinned actions and without a secret."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from host import build, channel, docs, soak, test
from host.layout import REPO

WORKFLOWS = sorted((REPO / ".github/workflows").glob("*.yml"))
EVENTS = {"push", "pull_request", "schedule", "workflow_dispatch"}
PINNED = re.compile(r"actions/[a-z-]+@[0-9a-f]{40}")
# The version that a commit has is for readers and for the bot of dependencies.
NAMED = re.compile(r"uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
# A container has no git, and without it the checkout is no clone.
PREPARATION = ("apt-get update", "apt-get install --yes --no-install-recommends git")
# Pages of GitHub are published with a token of the run; nothing else writes.
PUBLISHED = {"pages": "write", "id-token": "write"}
TAG = '"$GITHUB_REF_NAME"'


def loaded(text: str) -> dict[str, Any]:
    # YAML 1.1 takes the key `on` for true
    return {"on" if key is True else key: value for key, value in yaml.safe_load(text).items()}


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def complaints(text: str) -> Iterator[str]:
    """Yield what is wrong with the text of a workflow."""
    workflow = loaded(text)
    events = workflow["on"]
    yield from (f"event {event}" for event in events if event not in EVENTS)
    if workflow.get("permissions") != {"contents": "read"}:
        yield "permissions of the workflow"
    for name, job in workflow["jobs"].items():
        if job.get("permissions", {}) not in ({}, PUBLISHED):
            yield f"permissions of {name}"
        if job.get("permissions") and (len(job["steps"]) > 1 or "run" in job["steps"][0]):
            yield f"{name} runs more than it needs its permissions for"
        if not 0 < job.get("timeout-minutes", 0) < 360:
            yield f"time limit of {name}"
        if "--privileged" in str(job.get("container")) and "pull_request" in events:
            yield f"{name} gives a pull request the host"
    for step in steps(workflow):
        uses = step.get("uses", "")
        if uses and not PINNED.fullmatch(uses):
            yield f"action {uses}"
        if uses.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
            yield "the checkout keeps its credentials"
        if "run" in step and step["run"] not in PREPARATION and not known(step["run"]):
            yield f"command {step['run']}"
    yield from (f"line {line.strip()}" for line in text.splitlines() if " uses: " in line and not NAMED.search(line))
    if "secrets." in text or re.search(r"github\.token|run:.*\$\{\{", text):
        yield "a secret, or an expression in a command"


def known(command: str) -> bool:
    """Whether a command is one line of a program in tools/."""
    words = shlex.split(command)
    program = REPO / words[0]
    return "\n" not in command.strip() and words[0].startswith("tools/") and program.is_file()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_is_in_order(path: Path) -> None:
    assert list(complaints(path.read_text())) == []


def test_each_push_each_merge_each_night_and_each_tag_have_one() -> None:
    events = {path.stem: loaded(path.read_text())["on"] for path in WORKFLOWS}
    assert set(events) == {"check", "merge", "nightly", "release"}
    assert events["merge"] == {"push": {"branches": ["main"]}} and events["release"] == {"push": {"tags": ["v*"]}}
    assert set(events["check"]) == {"push", "pull_request"} and not any(events["check"].values())
    assert "schedule" in events["nightly"]


def commands() -> list[str]:
    return [step["run"] for path in WORKFLOWS for step in steps(loaded(path.read_text())) if "run" in step]


def parts(command: str) -> set[str]:
    return set(command.split()[1:]) & {*test.PARTS, *test.BY_HAND}


def test_all_parts_of_the_tests_are_run() -> None:
    ran = [parts(command) for command in commands() if command.startswith("tools/test ")]
    assert set().union(*ran) == {*test.PARTS, *test.BY_HAND}
    assert {"unit", "docs", "pages"} in ran


@pytest.mark.parametrize("command", sorted(set(commands()) - set(PREPARATION)))
def test_command_parses_as_that_of_a_person_does(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command ends at the first thing that it would do."""

    class Reached(Exception):
        pass

    def reached(*given: object, **named: object) -> None:
        raise Reached

    program, *arguments = shlex.split(command)
    tool = {"tools/build": build, "tools/test": test, "tools/docs": docs}[program]
    for module, name in ((build, "build_appliance"), (build, "print_cves"), (build.check, "check"), (test, "building")):
        monkeypatch.setattr(module, name, reached)
    monkeypatch.setattr(soak, "run_for", reached)
    monkeypatch.setattr(docs, "build", reached)
    monkeypatch.setattr(docs, "generator", reached)
    monkeypatch.setattr("host.locked.collect.collect", reached)
    monkeypatch.setattr("host.locked.rebuild.without_network", reached)
    monkeypatch.setattr(build.version, "tagged", lambda root, tag: "0.1.0")
    monkeypatch.setenv(build.version.RELEASE, "")
    with pytest.raises(Reached):
        tool.main(arguments)


def test_image_of_a_tag_is_built_twice_and_again_from_its_packages() -> None:
    release = loaded((REPO / ".github/workflows/release.yml").read_text())
    ran = [step["run"] for step in steps(release) if step.get("run", "").startswith("tools/")]
    assert ran == [
        f"tools/build --check --tag {TAG}",
        f"tools/build --lock packages --tag {TAG}",
        f"tools/build --locked packages --tag {TAG}",
        "tools/build --cves",
    ]
    kept = [step["with"]["path"] for step in steps(release) if "upload-artifact@" in step.get("uses", "")]
    assert all(name in kept[0] for name in ("SHA256SUMS", ".raw", ".cdx.json", ".notes.md")) and kept[1] == "packages"


WRONG = {
    "uses: actions/checkout@v6 # v6.0.2": "action actions/checkout@v6",
    "uses: other/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2": "action other/checkout@",
    "run: curl https://example.com/": "command curl",
    "run: tools/deploy": "command tools/deploy",
    "run: tools/docs --token ${{ secrets.TOKEN }}": "a secret",
    "run: tools/docs ${{ github.head_ref }}": "a secret, or an expression",
}


@pytest.mark.parametrize("step", WRONG)
def test_step_that_is_wrong_is_found(step: str) -> None:
    text = (REPO / ".github/workflows/check.yml").read_text()
    assert any(complaint.startswith(WRONG[step]) for complaint in complaints(f"{text}      - {step}\n"))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("  pull_request:\n", "  pull_request_target:\n", "event pull_request_target"),
        ("contents: read", "contents: write", "permissions of the workflow"),
        ("persist-credentials: false", "fetch-tags: true", "the checkout keeps its credentials"),
        ("    timeout-minutes: 60\n", "", "time limit of fast"),
        ("container: debian:trixie", "container: {image: debian:trixie, options: --privileged}", "fast gives a pull"),
        (
            "    timeout-minutes: 60\n",
            "    timeout-minutes: 60\n    permissions: {packages: write}\n",
            "permissions of f",
        ),
    ],
)
def test_workflow_that_may_too_much_is_found(before: str, after: str, expected: str) -> None:
    text = (REPO / ".github/workflows/check.yml").read_text()
    assert before in text
    assert any(complaint.startswith(expected) for complaint in complaints(text.replace(before, after)))


def test_channels_are_those_of_the_manual() -> None:
    page = (REPO / "docs/release.md").read_text()
    assert all(f"https://files.example/millrace/{name}/" in page for name in channel.CHANNELS)
