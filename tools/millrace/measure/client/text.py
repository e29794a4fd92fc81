# SPDX-License-Identifier: Apache-2.0
"""A recipe to read and copy: nothing is wrapped, what is not a line of a file is a comment."""

from collections.abc import Iterable

from millrace.measure.client import systems
from millrace.measure.client.model import GpuSettings, Recipe, RecipeChoice


def lines(recipe: Recipe) -> list[str]:
    """Return the whole recipe in the order in which it is applied."""
    rows = [
        f"# Share {recipe.share}, workload {recipe.workload}, {recipe.protocol}. Run on the client as root.",
        "# Apply these files first, then one of A, B or C; all three mount the same.",
    ]
    for file in recipe.files:
        rows += _section(f"{file.path}, mode {file.mode}", file.text)
    if recipe.prepare:
        rows += _section("then these commands", "\n".join(recipe.prepare))
    rows += _section("A: /etc/fstab", "\n".join(recipe.fstab))
    rows += _section("A: commands", "\n".join(recipe.fstab_commands))
    for unit in recipe.units:
        rows += _section(f"B: {unit.path}", unit.text)
    rows += _section("B: commands", "\n".join(recipe.unit_commands))
    rows += _section("C: commands, until the next boot", "\n".join(recipe.commands))
    if recipe.systems:
        rows += _section("Windows and macOS, instead of all above", "\n".join(systems.lines(recipe.systems)))
    if recipe.gpu:
        rows += _gpu(recipe.gpu)
    if recipe.zone:
        rows += _section("zone file of the name server", recipe.zone)
    rows += [
        "",
        "# ==== reasons",
        *_choices(recipe.options),
        "#",
        "# ==== skipped, with reason",
        *_choices(recipe.left_out),
    ]
    rows += ["#", "# ==== notes", *(f"# - {note.text} [{note.source}]" for note in recipe.notes)]
    return rows


def _gpu(gpu: GpuSettings) -> list[str]:
    rows = ["", f"# ==== GPUs ({gpu.maker}): versions", *_choices(gpu.needs)]
    for part in gpu.merge:
        rows += _section(f"GPUs: merge into {part.path}", part.text)
    if gpu.environment:
        settings = [line for choice in gpu.environment for line in (*_choices([choice]), f"export {choice.option}")]
        rows += _section("GPUs: environment of programs that use this mount", "\n".join(settings))
    proof = [line for choice in gpu.proof for line in (f"# {choice.reason} [{choice.source}]", choice.option)]
    rows += _section("GPUs: prove the direct path", "\n".join(proof))
    rows += ["", "# ==== GPUs: versions that do not work"]
    return rows + [f"# {trap.date}: {trap.problem}. Fix: {trap.fix} [{trap.source}]" for trap in gpu.traps]


def _section(title: str, text: str) -> list[str]:
    return ["", f"# ==== {title}", *text.rstrip("\n").split("\n")]


def _choices(choices: Iterable[RecipeChoice]) -> list[str]:
    return [f"# {one.option}: {one.reason} [{one.source}]" for one in choices]
