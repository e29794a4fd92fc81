"""What a move of files does not do: symbols that belong to another module, code that a room needed from above, texts.

`before` runs in the old layout, with old names; `after` and `last` in the new one, before and after ruff. Every edit
names the text that it replaces, and fails where that is not there any more.
"""

import ast
import re
import subprocess
from pathlib import Path

PACKAGE = "tools/millrace"
HEAD = "# SPDX-License-Identifier: Apache-2.0\n"

# Modules that `before` makes; moves.tsv says where they go.
MADE = (
    "pool.live_model",
    "provision.settings_record",
    "inventory.places",
    "provision.assemble_verbs",
    "pool.unclean_verbs",
    "pool.priority_verbs",
    "drive.drive_rows",
    "drive.drive_text",
    "drive.erase_text",
    "drive.erase_verbs",
    "drive.testing_text",
    "drive.locate_verbs",
)


class Stale(Exception):
    """The text that an edit replaces is not there: the program has changed, so look at the edit."""


def packages(rows: dict[str, str]) -> set[str]:
    """The rooms, as paths of two parts."""
    found = set()
    for old, new in rows.items():
        parts = new.split(".")
        if len(parts) > 2:
            found.add("/".join(parts[:2]))
    return found


# ------------------------------------------------------------------------------------------- tools


def path_of(root: Path, module: str) -> Path:
    return root / PACKAGE / f"{module.replace('.', '/')}.py"


MISSED: list[str] = []


def replace(path: Path, *pairs: tuple[str, str]) -> None:
    """Replace texts that stand in a file once; what does not is collected, and reported by `complete`."""
    text = path.read_text() if path.exists() else ""
    for old, new in pairs:
        if text.count(old) != 1:
            MISSED.append(f"{path}: {text.count(old)} times, not once: {old!r}")
        text = text.replace(old, new)
    if path.exists():
        path.write_text(text)


def complete() -> None:
    """Fail with every edit that did not find its text."""
    if MISSED:
        raise Stale("\n".join(MISSED))


class Source:
    """A module as its statements, each with the comments above it and the docstring of a constant below it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()
        self.lines = self.text.splitlines(keepends=True)
        self.tree = ast.parse(self.text)
        self.spans: dict[str, tuple[int, int]] = {}
        body = self.tree.body
        for number, node in enumerate(body):
            names = _names(node)
            if not names:
                continue
            begin = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) - 1
            while begin and self.lines[begin - 1].startswith("#"):
                begin -= 1
            end = node.end_lineno
            after = body[number + 1] if number + 1 < len(body) else None
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and not isinstance(node, _DEFINED):
                end = after.end_lineno
            for name in names:
                self.spans[name] = (begin, end)

    def imports(self) -> str:
        """Everything that the module imports at its top."""
        found = []
        for node in self.tree.body:
            is_typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            if isinstance(node, (ast.Import, ast.ImportFrom)) or is_typing:
                found.append("".join(self.lines[node.lineno - 1 : node.end_lineno]))
        return "".join(found)

    def used(self, names: list[str]) -> set[str]:
        """Names that these statements use."""
        found = set()
        for name in names:
            begin, end = self.spans[name]
            for node in ast.walk(ast.parse("".join(self.lines[begin:end]))):
                if isinstance(node, ast.Name):
                    found.add(node.id)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                    found.add(node.value)
        return found


_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, _DEFINED):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


SYMBOLS: dict[tuple[str, str], tuple[str, str]] = {}


def split(
    root: Path,
    source: str,
    target: str,
    names: list[str],
    words: str,
    *,
    rename: dict[str, str] | None = None,
    copy: tuple[str, ...] = (),
    also: str = "",
) -> None:
    """Move top-level names of a module to a new one; what they need of the old one is imported from there.

    `copy` are private helpers that both have then. `also`: lines of imports that the new module needs besides.
    """
    rename = rename or {}
    old = Source(path_of(root, source))
    missing = [one for one in (*names, *copy) if one not in old.spans]
    if missing:
        raise Stale(f"{source} has no {', '.join(missing)}")
    moved = sorted({old.spans[one] for one in (*names, *copy)})
    gone = sorted({old.spans[one] for one in names})
    body = "\n\n".join("".join(old.lines[begin:end]) for begin, end in moved)
    stay = [one for one in old.spans if one not in names]
    back = sorted(old.used([*names, *copy]) & set(stay) - set(copy))
    forth = sorted(rename.get(one, one) for one in old.used(stay) & set(names))
    if back and forth:
        raise Stale(f"{source} and {target} need each other: {back} {forth}")
    lines = [line for number, line in enumerate(old.lines) if not any(low <= number < high for low, high in gone)]
    rest = "".join(lines)
    if forth:
        rest = _with_import(rest, f"from millrace.{target} import {', '.join(forth)}\n")
    imports = old.imports() + also
    if back:
        imports += f"from millrace.{source} import {', '.join(back)}\n"
    for before, after in rename.items():
        body = re.sub(rf"(?<![\w.]){before}\b", after, body)
        rest = re.sub(rf"(?<![\w.]){before}\b", after, rest)
    new = path_of(root, target)
    if new.exists():
        text = _with_import(new.read_text(), imports) + f"\n\n{body}"
    else:
        text = f'{HEAD}"""{words}"""\n\n{imports}\n\n{body}'
    new.write_text(text)
    old.path.write_text(rest)
    for name in names:
        SYMBOLS["millrace." + source, name] = ("millrace." + target, rename.get(name, name))


def _with_import(text: str, lines: str) -> str:
    """The text with imports behind its docstring."""
    tree = ast.parse(text)
    at = tree.body[0].end_lineno if ast.get_docstring(tree) is not None else 0
    parts = text.splitlines(keepends=True)
    return "".join([*parts[:at], "\n", lines, *parts[at:]])


def tidy(root: Path, ruff: str, modules: list[str]) -> None:
    """Remove what is not used any more, and format."""
    paths = [str(path_of(root, one)) for one in modules]
    for argv in (["check", "-q", "--select", "F401,I,F811", "--fix"], ["format", "-q"]):
        done = subprocess.run([ruff, *argv, *paths], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Stale(done.stdout + done.stderr)


# ------------------------------------------------------------------------------------------ before


def before(root: Path, ruff: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Edits in the old layout; return which names moved to which module."""
    SYMBOLS.clear()
    # The arrays as md has them are needed far below the page that shows the whole pool.
    split(
        root,
        "pool.model",
        "pool.live_model",
        ["MemberState", "Action", "Member", "Sync", "LiveArray"],
        "The arrays of the pool as md has them now.",
    )
    # md's check needs of tune/ only how a limit of it is read and written.
    replace(
        path_of(root, "tune.check"),
        ('    return Limits(*(_knob(device, name, "").original() or "system" for name in (_MIN, _MAX)))\n',
         "    return Limits(_limit(device, _MIN), _limit(device, _MAX))\n"),
        ("    _knob(device, _MIN, wanted.least).write(wanted.least)\n    _knob(device, _MAX, wanted.most).write(wanted.most)\n",
         '    sysfs.write(_md(device) / _MIN, f"{wanted.least}\\n")\n    sysfs.write(_md(device) / _MAX, f"{wanted.most}\\n")\n'),
        ("def _knob(device: str, name: str, value: str) -> Knob:\n    return Knob(_md(device) / name, value, _REASON)\n",
         'def _limit(device: str, name: str) -> str:\n'
         '    """Return a limit as it is written: `1000 (local)` is 1000, `200000 (system)` follows the sysctl."""\n'
         '    text = (_md(device) / name).read_text()\n'
         '    return "system" if "(system)" in text else (text.split() or ["system"])[0]\n'),
        ('_REASON = "a check has limits of its own"\n', ""),
        ("from millrace.tune.knob import Knob\n", ""),
    )  # fmt: skip
    # How fast a check may be is computed from the settings that tune/ recorded.
    split(
        root,
        "tune.settings",
        "provision.settings_record",
        ["recorded", "_read"],
        "The runtime settings that were recorded: of this boot, else of the last one.",
        rename={"_read": "read_settings"},
    )
    replace(
        path_of(root, "provision.settings_record"),
        ("def read_settings(path: Path) -> SettingsFile | None:\n",
         'def read_settings(path: Path) -> SettingsFile | None:\n    """Return a record of settings; None where it cannot be read."""\n'),
    )  # fmt: skip
    # Where drives are is known to the inventory.
    split(root, "pool.show", "inventory.places", ["bays"], "Where the drives of this server are.")
    # Verbs that `pool`, `drive` and `share` only mounted: the verb table has them now.
    split(
        root, "provision.verbs", "provision.assemble_verbs", ["assemble"], "`millrace assemble`.", copy=("_report",),
    )  # fmt: skip
    split(
        root,
        "pool.verbs",
        "pool.unclean_verbs",
        ["unclean_", "acknowledge"],
        "`millrace pool unclean` and `pool acknowledge`.",
        copy=("_report",),
    )
    split(root, "pool.verbs", "pool.priority_verbs", ["priority"], "`millrace pool priority`.")
    for name in ("unclean_verbs", "priority_verbs"):
        free(path_of(root, f"pool.{name}"), "pool")
    text = path_of(root, "pool.verbs").read_text()
    mounted = set(re.findall(r"^pool\.add_command\((\w+)\)\n", text, flags=re.M))
    known = {"scrub", "trim", "rescue", "rescuing", "revive", "find", "found", "adopt", "adopting"}
    if mounted != known:
        MISSED.append(f"pool/verbs.py mounts {sorted(mounted ^ known)} besides or no more: correct BELOW")
    path_of(root, "pool.verbs").write_text(re.sub(r"^pool\.add_command\(\w+\)\n", "", text, flags=re.M))
    _drives(root)
    replace(
        path_of(root, "share.verbs"),
        ("from millrace.share import clone_verbs, copy_verbs, direct_verbs\n", ""),
        ("for verb in (\n    clone_verbs.clone,\n    clone_verbs.clone_status,\n    clone_verbs.clone_cancel,\n"
         "    clone_verbs.clone_execute,\n    clone_verbs.clone_end,\n    clone_verbs.clone_sweep,\n    clone_verbs.unseal,\n"
         "    copy_verbs.copy,\n    direct_verbs.users,\n):\n    share.add_command(verb)\n\n\n", ""),
    )  # fmt: skip
    changed = sorted({one.removeprefix("millrace.") for pair in SYMBOLS.items() for one, _ in pair})
    complete()
    tidy(root, ruff, [*changed, "share.verbs", "tune.check"])
    return dict(SYMBOLS)


def free(path: Path, group: str) -> None:
    """Commands of a module that stand for themselves; the verb table puts them below their group."""
    text = path.read_text().replace(f"@{group}.command(", "@click.command(")
    path.write_text(text.replace(f"from millrace.{group}.verbs import {group}\n", ""))


def _drives(root: Path) -> None:
    """What a drive is stays in one room; erasing, testing and changing it are rooms of their own above that.

    The list of all drives shows what each of them allows, and so is above all four.
    """
    split(
        root,
        "drive.lines",
        "drive.erase_text",
        ["before_erase", "erased", "erase_bar", "_pace"],
        "An erasure in words: what is asked before it, its progress, and how it ended.",
    )
    split(
        root,
        "drive.lines",
        "drive.testing_text",
        ["before_tests", "tested", "cancelled", "test_bar"],
        "Tests of drives in words: what is asked before them, their progress, and how they ended.",
    )
    split(
        root,
        "drive.lines",
        "drive.drive_text",
        ["verdict", "located", "_size"],
        "One drive in words: its name at the beginning of a sentence, its verdict, its size.",
        rename={"_size": "size_or_nothing"},
    )
    for name in ("erase_text", "testing_text"):
        path = path_of(root, f"drive.{name}")
        text = re.sub(r"(?<![\w.])_size\b", "size_or_nothing", path.read_text())
        path.write_text(re.sub(r"from millrace\.drive\.lines import", "from millrace.drive.drive_text import", text))
    replace(
        path_of(root, "drive.drive_text"),
        ("def size_or_nothing(count: int | None) -> str:\n",
         'def size_or_nothing(count: int | None) -> str:\n    """Return a number of bytes in words, empty where it is not known."""\n'),
    )  # fmt: skip
    split(root, "drive.erase", "drive.drive_text", ["named"], "")
    split(root, "drive.verbs", "drive.erase_verbs", ["erase", "erase_execute", "erase_cleanup"],
          "`millrace drive erase`.")  # fmt: skip
    split(root, "drive.verbs", "drive.locate_verbs", ["locate"], "`millrace drive locate`.")
    for name in ("erase_verbs", "locate_verbs"):
        free(path_of(root, f"drive.{name}"), "drive")
    replace(
        path_of(root, "drive.verbs"),
        ("from millrace.drive.change_verbs import add, apply, inserted, progress, remove, replace, resume\n", ""),
        ("from millrace.drive.testing_verbs import test_, test_cleanup, test_execute\n", ""),
        ("for verb in (replace, add, remove, progress, resume, apply, inserted, test_, test_execute, test_cleanup):\n"
         "    drive.add_command(verb)\n\n\n", ""),
    )  # fmt: skip
    _rows(root)


def _rows(root: Path) -> None:
    """A row of a drive without what it allows now, for those who decide that."""
    split(
        root,
        "drive.rows",
        "drive.drive_rows",
        ["UNPLUGGED", "Identity", "rows", "row", "_present", "_gone", "_missing", "_row", "_part"],
        "One row for each drive, without what it allows now: those that are here and those that the pool misses. Pure\n"
        "functions.\n",
    )
    # who imports rows means the complete ones, but for the five below
    for name in ("rows", "row"):
        SYMBOLS.pop(("millrace.drive.rows", name))
    replace(
        path_of(root, "drive.drive_rows"),
        ("    possible = PossibleChanges(facts, judged)\n", ""),
        ("    found = [\n"
         "        _row(facts, judge, one, judgement, *_changes(facts, judge, one.serial, judgement, possible))\n"
         "        for one, judgement in present + gone\n"
         "    ]\n",
         "    found = [_row(facts, judge, one, judgement) for one, judgement in present + gone]\n"),
        ("def _row(\n"
         "    facts: Facts, judge: Judge, one: Identity, judgement: Judgement, needs: int | None, actions: list[DriveAction]\n"
         ") -> DriveRow:\n",
         "def _row(facts: Facts, judge: Judge, one: Identity, judgement: Judgement) -> DriveRow:\n"),
        ("        needs_bytes=needs,\n", "        needs_bytes=None,\n"),
        ('        test_seconds=testing.seconds(one.size) if "test" in actions and one.size else None,\n        actions=actions,\n',
         "        test_seconds=None,\n        actions=[],\n"),
        ('    """Return all drives in the order of their bays; what has no bay comes last."""\n',
         '    """Return all drives in the order of their bays; what has no bay comes last. No row has an action."""\n'),
        ("from millrace.drive.rows import _changes\n", ""),
        ("def row(facts: Facts, serial: str) -> DriveRow:\n"
         '    """Return the drive with this serial number. Refused: there is none, or it is not the only one."""\n',
         "def row(facts: Facts, serial: str) -> DriveRow:\n"
         '    """Return the drive with this serial number. Refused: there is none, or it is not the only one."""\n'
         "    return only(rows(facts), serial)\n\n\n"
         "def only(rows: Sequence[DriveRow], serial: str) -> DriveRow:\n"
         '    """Return the row with this serial number. Refused: there is none, or it is not the only one."""\n'),
        ("    found = [one for one in rows(facts) if serial and one.serial == serial]\n",
         "    found = [one for one in rows if serial and one.serial == serial]\n"),
        ("from dataclasses import dataclass\n", "from collections.abc import Sequence\nfrom dataclasses import dataclass\n"),
    )  # fmt: skip
    path = path_of(root, "drive.rows")
    text = path.read_text()
    at = text.index("def _changes(")
    docstring = ast.get_docstring(ast.parse(text), clean=False)
    text = text.replace(docstring, "One row for each drive, with what it allows now. Pure functions.", 1)
    at = text.index("def _changes(")
    text = text[:at].rstrip("\n") + ROWS + text[at:]
    path.write_text(_with_import(text, "from millrace.drive import drive_rows\n"))
    for module in ("erase_job", "testing_job", "locate", "change_verbs", "testing_verbs"):
        path = path_of(root, f"drive.{module}")
        text, count = re.subn(r"from millrace\.drive\.rows import (rows?)\n", r"from millrace.drive.drive_rows import \1\n", path.read_text())
        if count != 1:
            raise Stale(f"{path} imports no row")
        path.write_text(text)


ROWS = '''


def rows(facts: Facts) -> list[DriveRow]:
    """Return all drives in the order of their bays; what has no bay comes last."""
    judge = Judge(facts)
    possible = PossibleChanges(facts, [(one, judge.drive(one)) for one in facts.present if one.size])
    return [_complete(facts, judge, one, possible) for one in drive_rows.rows(facts)]


def row(facts: Facts, serial: str) -> DriveRow:
    """Return the drive with this serial number. Refused: there is none, or it is not the only one."""
    return drive_rows.only(rows(facts), serial)


def _complete(facts: Facts, judge: Judge, one: DriveRow, possible: PossibleChanges) -> DriveRow:
    """A row with what its drive allows."""
    judgement = Judgement(one.verdict, one.what, one.too_small_by)
    needs, actions = _changes(facts, judge, one.serial, judgement, possible)
    seconds = testing.seconds(one.size_bytes) if "test" in actions and one.size_bytes else None
    return one.model_copy(update={"needs_bytes": needs, "test_seconds": seconds, "actions": actions})


'''


# ------------------------------------------------------------------------------------------- after

# Docstrings of packages that are new, or whose docstring was not true.
DOCUMENTS = {
    "cli": "The command line: the table of the verbs, the process that runs them for programs and pages, their schemas.",
    "observe": "Inspect everything and report it: health, alerts, metrics, live figures, the pool, an archive for support.",
    "observe/drive": "The list of all drives: what each of them is, and what it allows now.",
    "observe/pool": "The pool as it is now: arrays, members, rebuilds, file system, share usage.",
    "measure": "What this server can do, and how clients get it: the benchmark, the tuner, mount recipes.",
    "lifecycle": "A server from its installation to its reset: versions, boot drives, keys and people, the kept state.",
    "lifecycle/etc": "/etc of a new version: what it brings, without what was changed on this server.",
    "serve": "What people decide, and the files and services that carry it out.",
    "serve/domain": "What a member of a domain has: its files, numbers, keys, tickets and daemons. `join/` joins and leaves.",
    "serve/clone": "Clones of shares by reflink, and copies of what another server exports.",
    "serve/revision": "The whole desired state: its history, rollback, export and import, and what the next rendering would change.",
    "serve/volume": "Volumes over NVMe/TCP and NVMe/RDMA: their files on the pool, and what nvmet serves of them.",
    "storage": "Drives, arrays and the file system of the pool; but for the boot drive, block devices are written here alone.",
    "storage/record": "What is kept of the pool and its drives, and the journals of what is written to them.",
    "storage/array": "The arrays of the pool and their members, as md has them now.",
    "storage/provision": "Make the arrays and the file system of an approved plan, whatever happens in between.",
    "storage/assemble": "Start the arrays in every boot, and again when lost drives are back; decide which members are used.",
    "storage/change": "Changes of the drives of the pool: a drive takes the place of another, a spare comes, a member goes.",
    "storage/drive": "The drives of this server: identity, state, what each of them reports, and what is recorded of it.",
    "storage/drive_test": "Tests of blank drives: everything is written and read back.",
    "storage/erase": "Erasing a drive: whether it may be erased, how, and how far that is.",
    "storage/scrub": "Checks of all arrays: when, how fast, what they found, which files that is, and its repair.",
    "storage/trim": "Trims of the file system: when, what keeps one from running, how far it is.",
    "storage/unclean": "After an array was started unclean while degraded: torn rows, and the files that may be damaged.",
    "plan": "What to build, and why: pure functions from an inventory and a policy to a plan or a refusal. `current` and the\n"
    "files of the policy read and write.\n",
    "plan/policy": "The policy: what the owner of the server decides, where it is read from, and which one is in force.",
    "system": "The floor under every room: one way to run a tool, write a file, take a lock, format a size. Imports no room.",
    "system/trees": "Trees of files that clients write while root walks them: by descriptors, never through a link.",
}


BELOW = """
# Verbs below a verb of the table whose work is in another room: "words": "module:command".
BELOW = {
    "pool scrub": "millrace.storage.scrub.scrub_verbs:scrub",
    "pool trim": "millrace.storage.trim.trim_verbs:trim",
    "pool rescue": "millrace.storage.rescue.rescue_verbs:rescue",
    "pool rescuing": "millrace.storage.rescue.rescue_verbs:rescuing",
    "pool revive": "millrace.storage.rescue.revive_verbs:revive",
    "pool unclean": "millrace.storage.unclean.unclean_verbs:unclean_",
    "pool acknowledge": "millrace.storage.unclean.unclean_verbs:acknowledge",
    "pool priority": "millrace.tune.priority_verbs:priority",
    "pool find": "millrace.lifecycle.adopt.verbs:find",
    "pool found": "millrace.lifecycle.adopt.verbs:found",
    "pool adopt": "millrace.lifecycle.adopt.verbs:adopt",
    "pool adopting": "millrace.lifecycle.adopt.verbs:adopting",
    "drive locate": "millrace.storage.drive.locate_verbs:locate",
    "drive replace": "millrace.storage.change.change_verbs:replace",
    "drive add": "millrace.storage.change.change_verbs:add",
    "drive remove": "millrace.storage.change.change_verbs:remove",
    "drive progress": "millrace.storage.change.change_verbs:progress",
    "drive resume": "millrace.storage.change.change_verbs:resume",
    "drive apply": "millrace.storage.change.change_verbs:apply",
    "drive inserted": "millrace.storage.change.change_verbs:inserted",
    "drive test": "millrace.storage.drive_test.testing_verbs:test_",
    "drive test-execute": "millrace.storage.drive_test.testing_verbs:test_execute",
    "drive test-cleanup": "millrace.storage.drive_test.testing_verbs:test_cleanup",
    "drive erase": "millrace.storage.erase.erase_verbs:erase",
    "drive erase-execute": "millrace.storage.erase.erase_verbs:erase_execute",
    "drive erase-cleanup": "millrace.storage.erase.erase_verbs:erase_cleanup",
    "share clone": "millrace.serve.clone.clone_verbs:clone",
    "share clone-status": "millrace.serve.clone.clone_verbs:clone_status",
    "share clone-cancel": "millrace.serve.clone.clone_verbs:clone_cancel",
    "share clone-execute": "millrace.serve.clone.clone_verbs:clone_execute",
    "share clone-end": "millrace.serve.clone.clone_verbs:clone_end",
    "share clone-sweep": "millrace.serve.clone.clone_verbs:clone_sweep",
    "share unseal": "millrace.serve.clone.clone_verbs:unseal",
    "share copy": "millrace.serve.clone.copy_verbs:copy",
    "share smb-direct-users": "millrace.serve.share.direct_verbs:users",
}

"""

COMMAND = """
def command(verb: str) -> click.Command:
    \"\"\"Import a verb and the verbs below it.\"\"\"
    for contributes in CARRIED.get(verb, ()):
        import_module(contributes)
    found: click.Command = getattr(import_module(VERBS[verb][0]), verb)
    below = (where.partition(":") for words, where in BELOW.items() if words.startswith(f"{verb} "))
    for module, _, name in below:
        assert isinstance(found, click.Group)
        found.add_command(getattr(import_module(module), name))
    return found


"""

UNIT = "tests/unit"


def after(root: Path) -> None:
    """Edits in the new layout, before ruff sorts and formats."""
    _verb_table(root)
    _program(root)
    _tests(root)
    _pages(root)
    complete()


def _verb_table(root: Path) -> None:
    program = root / PACKAGE / "cli/program.py"
    replace(
        program,
        ('    "assemble": ("millrace.storage.provision.provision_verbs",', '    "assemble": ("millrace.storage.assemble.assemble_verbs",'),
        ("\n# Modules that add to what a verb exports", BELOW + "# Modules that add to what a verb exports"),
        ("        for contributes in CARRIED.get(cmd_name, ()):\n"
         "            import_module(contributes)\n"
         "        command = getattr(import_module(VERBS[cmd_name][0]), cmd_name)\n"
         "        assert isinstance(command, click.Command)\n"
         "        return command\n",
         "        return command(cmd_name)\n"),
        ("\nclass LazyGroup(click.Group):", COMMAND + "class LazyGroup(click.Group):"),
    )  # fmt: skip
    replace(
        root / PACKAGE / "cli/schema/outputs.py",
        ("    for verb, (module, _) in VERBS.items():\n        yield from _below(getattr(import_module(module), verb), verb)\n",
         "    for verb in VERBS:\n        yield from _below(command(verb), verb)\n"),
        ("def _below(command: click.Command, words: str) -> Iterator[tuple[str, JsonOption]]:\n    for parameter in command.params:\n",
         "def _below(verb: click.Command, words: str) -> Iterator[tuple[str, JsonOption]]:\n    for parameter in verb.params:\n"),
        ("    if isinstance(command, click.Group):\n        for name, one in command.commands.items():\n",
         "    if isinstance(verb, click.Group):\n        for name, one in verb.commands.items():\n"),
        ("from millrace.cli.program import VERBS\n", "from millrace.cli.program import VERBS, command\n"),
        ("from importlib import import_module\n", ""),
    )  # fmt: skip
    replace(
        root / PACKAGE / "cli/schema/document.py",
        ('_QUALIFIED = re.compile(r"millrace__(\\w+?)__(?:\\w+__)?(\\w+)")\n',
         '# What pages called the rooms before the rooms had these names.\n'
         '_BEFORE = {"config": "state", "network": "port"}\n'
         '_WINGS = "cli|observe|measure|lifecycle|serve|storage"\n'
         '_QUALIFIED = re.compile(rf"millrace__(?:(?:{_WINGS})__)?(\\w+?)__(?:\\w+__)?(\\w+)")\n'),
        ("    room, name = match[1].capitalize(), match[2]\n    return name if room == name or name in _FIRST.get(match[1], ()) else room + name\n",
         "    noun, name = _BEFORE.get(match[1], match[1]), match[2]\n"
         "    room = noun.capitalize()\n"
         "    return name if room == name or name in _FIRST.get(noun, ()) else room + name\n"),
        ("# pydantic names classes of the same name by their module: millrace__plan__finding__Finding\n",
         "# pydantic names classes of the same name by their module: millrace__observe__health__model__Finding\n"),
    )  # fmt: skip


def _program(root: Path) -> None:
    replace(
        root / PACKAGE / "system/render.py",
        ('TEMPLATES = Path(__file__).parents[1] / "templates"\n', 'TEMPLATES = Path(__file__).with_name("templates")\n'),
    )
    replace(root / "pyproject.toml", ('millrace = ["templates/**"]\n', 'millrace = ["system/templates/**"]\n'))
    replace(
        root / PACKAGE / "lifecycle/etc/__main__.py",
        ('"""`python3 -I -m millrace.lifecycle.etc`, in the initrd: make /etc what this version brings. `… list`, at the build: list it.\n',
         '"""`python3 -I -m millrace.lifecycle.etc`, in the initrd: make /etc what this version brings. `… list`, at the\nbuild: list it.\n'),
    )  # fmt: skip
    replace(
        root / PACKAGE / "storage/drive/blink.py",
        ('"""Read from a drive for a second and pause for a second, so that its activity LED blinks: `millrace.storage.drive.blink`.\n',
         '"""Read from a drive for a second and pause for a second, so that its activity LED blinks.\n'),
    )  # fmt: skip
    replace(
        root / PACKAGE / "measure/client/served.py",
        ("    # As serve/share/smb_parameters.py renders it: no leases and no POSIX extensions where NFS clients write the same tree.\n",
         "    # As serve/share/smb_parameters.py renders it: no leases and no POSIX extensions where NFS clients write the same\n"
         "    # tree.\n"),
    )  # fmt: skip
    replace(
        root / "tools/host/perf/guest/rebuild.py",
        ("# KiB/s of each drive, what an emulated one can do; a priority guarantees this part of it (`millrace.tune.rebuild_speed`).\n",
         "# KiB/s of each drive, what an emulated one can do; a priority guarantees this part of it\n"
         "# (`millrace.tune.rebuild_speed`).\n"),
    )  # fmt: skip
    for name, old, new in (
        ("storage/drive/verdict.py", "see `possible`, `testing` and `erase`.", "see `change_preview`, `may_test` and `may_erase`."),
        ("observe/health/heartbeat_daemon.py", "`python3 -I -S heartbeat.py`", "`python3 -I -S heartbeat_daemon.py`"),
    ):
        replace(root / PACKAGE / name, (old, new))
    # by the names that docs/mutants.md has, so that results can be compared
    parts = ("record", "array", "provision", "assemble", "change")
    replace(
        root / "tools/host/mutants.py",
        ('    "plan": ["plan"],\n    "provision": ["provision"],\n    "etc": ["etc"],\n    "share": ["share"],\n'
         '    "bench": ["bench/plan", "bench/run", "bench/result"],\n',
         '    "plan": ["plan", "plan/policy"],\n'
         '    "provision": [' + ", ".join(f'"storage/{one}"' for one in parts) + "],\n"
         '    "etc": ["serve/render", "lifecycle/etc"],\n    "share": ["serve/share", "serve/clone"],\n'
         '    "bench": ["measure/bench/plan", "measure/bench/run", "measure/bench/result"],\n'),
        ('# drive changes are code of provision, and the tests of the room drive run them through its public functions\n'
         'TESTS = {"provision": ["provision", "drive"]}\n',
         "# where one directory has the tests of several parts\n"
         'TESTS = {"plan": ["plan"], "bench": ["measure/bench"]}\n'),
        ('TESTS.get(room, [room])', "TESTS.get(room, ROOMS[room])"),
    )  # fmt: skip
    replace(
        root / "tools/host/docs.py",
        ('GENERATORS = ("tests.unit.plan.table_of_servers", "tests.unit.measure.client.example_fstab")\n',
         'GENERATORS = ("tests.unit.plan.table_of_servers", "tests.unit.measure.client.example_fstab", "tests.unit.wings")\n'),
    )  # fmt: skip


def _tests(root: Path) -> None:
    unit = root / UNIT
    here = Path(__file__).resolve().parent / "files"
    for name in ("wings.py", "test_rooms.py"):
        (unit / name).write_text((here / name).read_text())
    (unit / "lifecycle/etc/conftest.py").write_text((unit / "serve/render/conftest.py").read_text())
    replace(
        unit / "lifecycle/etc/conftest.py",
        ('"""A root of its own for each test of rendered files."""', '"""A root of its own for each test of files under /etc."""'),
    )
    replace(
        unit / "test_file_names.py",
        ("tests/unit/ROOM/test_MODULE[_ASPECT].py.", "tests/unit/WING/ROOM/test_MODULE[_ASPECT].py."),
        ('    "bench": {"imports"},\n', '    "measure/bench": {"imports"},\n'),
        ('    "domain": {"shares"},\n', '    "serve/join": {"shares"},\n'),
        ('    "state": {"released_documents"},\n', '    "serve/config": {"released_documents"},\n'),
        ("        room, subject = path.parent.name, path.stem.removeprefix(\"test_\")\n",
         "        room, subject = room_of(path), path.stem.removeprefix(\"test_\")\n"),
        ("def misnamed(files: list[Path]) -> list[str]:\n",
         'def room_of(path: Path) -> str:\n'
         '    """Return the room that a file of tests is of, as a path below tools/millrace."""\n'
         "    return str(path.parent.relative_to(UNIT))\n\n\n"
         "def misnamed(files: list[Path]) -> list[str]:\n"),
        ('    files = list(UNIT.glob("*/test_*.py"))\n', '    files = list(UNIT.glob("*/**/test_*.py"))\n'),
        ('        ("share/test_a_share_is_served.py", True),\n        ("share/test_quotation.py", True),\n'
         '        ("share/test_quota.py", False),\n        ("share/test_quota_limits.py", False),\n        ("pool/test_quota.py", True),\n',
         '        ("serve/share/test_a_share_is_served.py", True),\n        ("serve/share/test_quotation.py", True),\n'
         '        ("serve/share/test_quota.py", False),\n        ("serve/share/test_quota_limits.py", False),\n'
         '        ("observe/pool/test_quota.py", True),\n        ("observe/metrics/sources/test_ports.py", False),\n'),
    )  # fmt: skip
    replace(
        unit / "test_recorded.py",
        ('    beside = [path for path in (REPO / "tests/unit").glob("*/*") if path.suffix in (".json", ".txt", ".toml")]\n',
         '    beside = [path for path in (REPO / "tests/unit").glob("*/**/*") if path.suffix in (".json", ".txt", ".toml")]\n'),
    )  # fmt: skip
    replace(
        root / "tests/recorded.toml",
        ('by = "tests/unit/provision"\n', 'by = "tests/unit/storage/provision"\n'),
        ('by = "tests/unit/share"\n', 'by = "tests/unit/serve/share"\n'),
    )
    replace(
        unit / "test_prometheus_rules.py",
        ('Path(__file__).parent / "metrics/rules-cases.yml"', 'Path(__file__).parent / "observe/metrics/rules-cases.yml"'),
    )
    replace(
        unit / "millrace_client/test_oldest_python.py",
        ('Path(__file__).parents[1] / "bench/samples"', 'Path(__file__).parents[1] / "measure/bench/samples"'),
    )
    replace(
        root / "tests/vm/shares/test_recipes.py",
        ('"unit/bench/summary.json"', '"unit/measure/bench/summary.json"'),
    )
    replace(
        root / "tests/vm/life/test_9_health_truth.py",
        ("millrace.health.heartbea[t]", "millrace.observe.health.heartbeat_daemo[n]"),
    )
    replace(
        unit / "measure/bench/test_imports.py",
        ("from tests.unit.test_rooms import PACKAGE, imported, modules\n",
         "from tests.unit.test_rooms import imported, modules\nfrom tests.unit.wings import PACKAGE\n"),
        ('    return parts[2] if parts[1:2] == ["bench"] and len(parts) > 2 else None\n',
         '    return parts[3] if parts[1:3] == ["measure", "bench"] and len(parts) > 3 else None\n'),
        ('(PACKAGE / "bench").glob("*.py")', '(PACKAGE / "measure/bench").glob("*.py")'),
        ('PACKAGE.glob("bench/*/__init__.py")', 'PACKAGE.glob("measure/bench/*/__init__.py")'),
    )  # fmt: skip
    replace(
        unit / "host/test_mutants.py",
        ('["src/millrace/plan/*.py"]', '["src/millrace/plan/*.py", "src/millrace/plan/policy/*.py"]'),
        ("def test_drive_changes_are_tested_from_the_room_that_makes_them(", "def test_parts_are_tested_by_the_tests_of_their_rooms("),
        ('    mutants.configure(tmp_path, "provision")\n', '    mutants.configure(tmp_path, "etc")\n'),
        ('["src/millrace/provision/*.py"]', '["src/millrace/serve/render/*.py", "src/millrace/lifecycle/etc/*.py"]'),
        ('["tests/unit/provision", "tests/unit/drive"]', '["tests/unit/serve/render", "tests/unit/lifecycle/etc"]'),
    )  # fmt: skip
    replace(
        unit / "host/test_docs_links.py",
        ("\ndef test_the_architecture_names_every_room_of_the_program() -> None:\n"
         '    page = (REPO / "docs/architecture.md").read_text()\n'
         '    (table,) = [part for part in page.split("\\n\\n") if part.startswith("| directory | what |")]\n'
         '    rooms = {path.parent.name for path in (REPO / "tools/millrace").glob("*/__init__.py")}\n'
         '    assert set(re.findall(r"`(\\w+)/`", table)) == rooms\n\n', ""),
    )  # fmt: skip
    replace(
        unit / "host/test_stage.py",
        ('"tools/millrace/__pycache__", "mkosi.output"', '"tools/millrace/cli/__pycache__", "mkosi.output"'),
        ('    (root / "tools/millrace/__pycache__/cli.pyc")', '    (root / "tools/millrace/cli/__pycache__/program.pyc")'),
    )
    replace(
        unit / "cli/test_program.py",
        ("\"rooms = ('keep', 'plan', 'tune.pace', 'provision', 'pool.show');\"",
         "\"rooms = ('lifecycle.keep', 'plan', 'tune.rebuild_speed', 'storage.record', 'storage.provision');\""),
    )  # fmt: skip
    replace(
        unit / "lifecycle/reset/test_reset.py",
        ('    "place", ["keep.generations.write", "keep.forget._remove_others", "keep.forget.sync", "reset.firmware.request"]\n',
         '    "place", ["keep.generations.write", "keep.forget._remove_others", "keep.forget.sync", "reset.firmware.request"]\n'),
        ('patch.setattr(f"millrace.{place}", killed)', 'patch.setattr(f"millrace.lifecycle.{place}", killed)'),
    )  # fmt: skip
    replace(
        unit / "observe/alert/test_attempt.py",
        ('        "import sys; from pathlib import Path; from millrace.system import paths; from millrace.observe.alert import send; "\n',
         '        "import sys; from pathlib import Path; from millrace.system import paths; "\n'
         '        "from millrace.observe.alert import send; "\n'),
    )  # fmt: skip
    replace(
        unit / "serve/config/record.py",
        ('"""Record the state documents of this version in released/: `PYTHONPATH=tools:. python -m tests.unit.serve.config.record`.\n',
         '"""Record the state documents of this version in released/:\n`PYTHONPATH=tools:. python -m tests.unit.serve.config.record`.\n'),
    )  # fmt: skip
    replace(
        unit / "test_second_ways.py",
        ('"a sparse file behind a loop device, which holds changes of a snapshot for a moment"',
         '"a sparse file behind a loop device: changes of a snapshot for a moment"'),
        ('"the file may be anything: its kind, its schema and its size are looked at first"',
         '"the file may be anything: kind, schema and size are looked at first"'),
    )  # fmt: skip
    replace(
        unit / "cli/schema/test_document.py",
        ("    commands = {verb: getattr(import_module(module), verb) for verb, (module, _) in program.VERBS.items()}\n"
         "    return {words:", "    commands = {verb: program.command(verb) for verb in program.VERBS}\n    return {words:"),
        ("    commands = {verb: getattr(import_module(module), verb) for verb, (module, _) in program.VERBS.items()}\n"
         "    seen =", "    commands = {verb: program.command(verb) for verb in program.VERBS}\n    seen ="),
        ('["millrace__share__model__Entry", "millrace__share__listing__Entry"]',
         '["millrace__serve__share__model__Entry", "millrace__serve__share__listing__Entry"]'),
    )  # fmt: skip
    # commands that were reached through the group that mounted them
    replace(
        unit / "tune/test_priority.py",
        ("from millrace.observe.pool.verbs import pool as verb\n", "from millrace.tune.priority_verbs import priority as verb\n"),
        ('said = CliRunner().invoke(verb, ["priority"], standalone_mode=False)', "said = CliRunner().invoke(verb, [], standalone_mode=False)"),
        ('said = CliRunner().invoke(verb, ["priority", "clients"]', 'said = CliRunner().invoke(verb, ["clients"]'),
        ('assert CliRunner().invoke(verb, ["priority"]', "assert CliRunner().invoke(verb, []"),
        ('refused = CliRunner().invoke(verb, ["priority", "rebuild"]', 'refused = CliRunner().invoke(verb, ["rebuild"]'),
    )  # fmt: skip
    path = unit / "storage/unclean/test_suspects.py"
    text = path.read_text().replace("from millrace.observe.pool import verbs\n", "from millrace.cli.program import command\n")
    path.write_text(text.replace("says(verbs.pool, ", 'says(command("pool"), '))
    replace(
        unit / "storage/provision/test_provision_verbs.py",
        ('    monkeypatch.setattr(provision_verbs, "Linux", lambda: world)\n',
         '    for module in (provision_verbs, assemble_verbs):\n        monkeypatch.setattr(module, "Linux", lambda: world)\n'),
        ("from millrace.storage.assemble.assemble_verbs import assemble\n", "from millrace.storage.assemble import assemble_verbs\n"),
    )  # fmt: skip
    path = unit / "storage/provision/test_provision_verbs.py"
    path.write_text(re.sub(r"(?<=[ (])assemble(?=, )", "assemble_verbs.assemble", path.read_text()))


def _pages(root: Path) -> None:
    replace(
        root / "CONTRIBUTING.md",
        ("the directory of its noun in `tools/millrace/`, and one line in `cli.py`;",
         "the room of its noun in `tools/millrace/`, and one line in `cli/program.py`;"),
        ("| a write to a block device | `tools/millrace/provision/`, nowhere else |",
         "| a write to a block device | `tools/millrace/storage/`, and `lifecycle/install` for a boot drive; nowhere else |"),
        ("| a test | `tests/unit/<directory>/test_<module>.py` |", "| a test | `tests/unit/<wing>/<room>/test_<module>.py` |"),
    )  # fmt: skip
    page = root / "docs/architecture.md"
    replace(
        page,
        ("    inventory  ->  plan  ->  provision  ->  tune  ->  state  ->  share, user, domain, port, certificate  ->  health, bench, watch\n",
         "    inventory  ->  plan  ->  storage  ->  tune  ->  serve  ->  lifecycle, measure  ->  observe\n"),
        ("A directory imports only directories below it in this table; `tests/unit/test_rooms.py` fails otherwise. `errors.py` and\n"
         "`paths.py` are beside the directories because all of them, and the tools of build hosts, use them.\n",
         "It has ten wings, and rooms in them. A wing imports only wings below it in this table, `measure/` and `lifecycle/` do not\n"
         "import each other, and no rooms import each other; `tests/unit/test_rooms.py` fails otherwise.\n"),
    )  # fmt: skip
    text = page.read_text()
    begin = text.index("| directory | what |")
    end = text.index("\n\n", begin) + 1
    page.write_text(text[:begin] + "| directory | what |\n|---|---|\n" + text[end:])


def last(root: Path) -> None:
    """Edits after ruff: what is generated."""
    import os
    import sys

    environment = os.environ | {"PYTHONPATH": f"{root / 'tools'}:{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.wings"], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Stale(done.stderr)
