# SPDX-License-Identifier: Apache-2.0
"""A recipe to read and copy: nothing is wrapped, what is not a line of a file is a comment."""

from collections.abc import Iterable

from millrace.measure.client.model import Choice, GpuSettings, Recipe


def lines(recipe: Recipe) -> list[str]:
    """Return the whole recipe in the order in which it is applied."""
    found = [
        f"# Share {recipe.share}, workload {recipe.profile}, {recipe.protocol}. Run on the client as root.",
        "# Apply these files first, then one of A, B or C; all three mount the same.",
    ]
    for file in recipe.files:
        found += _section(f"{file.path}, mode {file.mode}", file.text)
    if recipe.prepare:
        found += _section("then these commands", "\n".join(recipe.prepare))
    found += _section("A: /etc/fstab", "\n".join(recipe.fstab))
    found += _section("A: commands", "\n".join(recipe.fstab_commands))
    for unit in recipe.units:
        found += _section(f"B: {unit.path}", unit.text)
    found += _section("B: commands", "\n".join(recipe.unit_commands))
    found += _section("C: commands, until the next boot", "\n".join(recipe.commands))
    if recipe.gpu:
        found += _gpu(recipe.gpu)
    if recipe.zone:
        found += _section("zone file of the name server", recipe.zone)
    found += [
        "",
        "# ==== reasons",
        *_choices(recipe.options),
        "#",
        "# ==== skipped, with reason",
        *_choices(recipe.left_out),
    ]
    found += ["#", "# ==== notes", *(f"# - {note.text} [{note.source}]" for note in recipe.notes)]
    return found


def _gpu(gpu: GpuSettings) -> list[str]:
    found = ["", f"# ==== GPUs ({gpu.maker}): versions", *_choices(gpu.needs)]
    for part in gpu.merge:
        found += _section(f"GPUs: merge into {part.path}", part.text)
    if gpu.environment:
        settings = [line for one in gpu.environment for line in (*_choices([one]), f"export {one.option}")]
        found += _section("GPUs: environment of programs that use this mount", "\n".join(settings))
    proof = [line for one in gpu.proof for line in (f"# {one.reason} [{one.source}]", one.option)]
    found += _section("GPUs: prove the direct path", "\n".join(proof))
    found += ["", "# ==== GPUs: versions that do not work"]
    return found + [f"# {one.date}: {one.problem}. Fix: {one.fix} [{one.source}]" for one in gpu.traps]


def _section(title: str, text: str) -> list[str]:
    return ["", f"# ==== {title}", *text.rstrip("\n").split("\n")]


def _choices(choices: Iterable[Choice]) -> list[str]:
    return [f"# {one.option}: {one.reason} [{one.source}]" for one in choices]
