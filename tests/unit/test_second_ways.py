# SPDX-License-Identifier: Apache-2.0
"""There is one way to do a thing, and it is in `system/`; what has another says why here."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.system.jobs.kinds import ALL

PACKAGE = REPO / "tools/millrace"


@dataclass(frozen=True)
class Rule:
    """`pattern` stands in no line of the package but in `at` and in the files of `others`, each with its reason."""

    pattern: str
    at: str
    sample: str
    others: dict[str, str]


RULES = {
    "run a tool": Rule(
        r"\bsubprocess\.(run|Popen|call|check_)|\bos\.(system|popen|exec|spawn|posix_spawn)",
        "system/run.py",
        "done = subprocess.run(argv)",
        {
            "cli/worker/ask.py": "it becomes the verb, and imports next to nothing",
            "observe/alert/attempt.py": "a delivery runs beside the service, which ends it at its time limit",
            "measure/bench/run/local.py": "fio is read while it measures, and stopped by the user",
            "measure/bench/run/loopback.py": "smbd runs until the measurement ends",
        },
    ),
    "write a file": Rule(
        r"\.write_(text|bytes)\(|\bmkstemp\(|\bNamedTemporaryFile\(|\.open\(\"[wax]|(?<!\.)\bopen\([^)]*, ?\"[wax]",
        "system/files.py",
        'path.write_text("")',
        {
            "system/sysfs.py": "the kernel takes a value in one write, and has no second file to replace",
            "observe/health/heartbeat_daemon.py": "it imports next to nothing",
            "measure/bench/result/live.py": "lines are added while others read",
            "measure/bench/run/local.py": "the program under way writes its errors into it",
            "measure/bench/run/loopback.py": "the program under way writes its log into it",
            "lifecycle/adopt/snapshots.py": "a sparse file behind a loop device: changes of a snapshot for a moment",
            "serve/share/smb.py": "a candidate for testparm, which no service reads",
            "system/archive.py": "as large as an archive, and beside the file that it becomes",
        },
    ),
    "sleep": Rule(
        r"\btime\.sleep\(",
        "system/wait.py",
        "time.sleep(1)",
        {
            "storage/array/machine.py": "`System.wait`, which tests of provisioning replace",
            "observe/alert/service.py": "the pause of a service that never ends",
        },
    ),
    "repeat until": Rule(
        r"\bwhile True\b",
        "system/wait.py",
        "    while True:",
        {
            "observe/alert/service.py": "it runs until it is stopped",
            "cli/worker/server.py": "it serves until its input ends",
            "lifecycle/install/dialog.py": "a person says when it ends",
            "cli/worker/resident.py": "it serves until it is stopped",
            "observe/live/verbs.py": "it prints until it is stopped",
            "inventory/settle.py": "done is what two looks in a row agree on, before or after the limit",
            "storage/array/gather.py": "the time that may pass depends on what was seen",
        },
    ),
    "read a stored time": Rule(
        r"\bdatetime\.fromisoformat\b",
        "system/ages.py",
        "at = datetime.fromisoformat(record.started)",
        {
            "system/text.py": "it is shown, whatever it is",
            "storage/assemble/revival_limit.py": "a line of another writer: whether it is a time is what is asked",
            "storage/assemble/unclean.py": "it orders times of superblocks, and records where one is wrong",
        },
    ),
    "list addresses": Rule(r"\"ip\", \"-", "system/net.py", '["ip", "-j", "addr"]', {}),
    "read an attribute of the kernel": Rule(
        r"ROOT / f?\"(sys|proc)/.*\.read_(text|bytes)\(|\bopen\(f?\"/(sys|proc)/",
        "system/sysfs.py",
        '(paths.ROOT / "sys/class/net" / name / "mtu").read_text()',
        {
            "serve/certificate/identity.py": "a server without a host name gets no certificate: the error is wanted",
            "system/leases.py": "without the table nobody knows which files are held: the error is wanted",
        },
    ),
    "ask nfsd": Rule(
        r"\"proc/fs/nfsd/(threads|portlist)",
        "system/nfsd.py",
        'paths.ROOT / "proc/fs/nfsd/threads"',
        {},
    ),
    "read a document": Rule(
        r"\bmodel_validate_json\(",
        "system/documents.py",
        "Transaction.model_validate_json(text)",
        {
            "observe/alert/send.py": "it comes through a pipe, not from a file",
            "serve/revision/portable.py": "the file may be anything: kind, schema and size are looked at first",
            "measure/bench/result/live.py": "a line of a file that grows",
        },
    ),
    "name an amount of memory": Rule(
        r"\.[0-3]f\} [KMGT]iB|GIB:|MIB:|1 << [1-4]0\):",
        "system/text.py",
        'f"{memory / GIB:.1f} GiB"',
        {},
    ),
    "take a lock": Rule(r"\bflock\(", "system/locks.py", "fcntl.flock(descriptor, fcntl.LOCK_EX)", {}),
    "read the mount table": Rule(
        r"mountinfo\"|\bproc/mounts\b|/self/mounts\b",
        "system/mounts.py",
        'open("/proc/self/mounts")',
        {"inventory/capture_files.py": "the file itself is kept, without the names in it"},
    ),
}


def lines_with(pattern: str) -> dict[str, list[str]]:
    """Return the lines of the package with a pattern, by file."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = [line for line in path.read_text().splitlines() if re.search(pattern, line)]
        if lines:
            found[str(path.relative_to(PACKAGE))] = lines
    return found


@pytest.mark.parametrize("name", RULES)
def test_there_is_one_way(name: str) -> None:
    rule = RULES[name]
    found = lines_with(rule.pattern)
    found.pop(rule.at, None)
    assert set(found) == set(rule.others), f"to {name}: {rule.at} has the way"


@pytest.mark.parametrize("name", RULES)
def test_second_way_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.test_second_ways.PACKAGE", tmp_path)
    (tmp_path / "new.py").write_text(f"{RULES[name].sample}\n")
    assert set(lines_with(RULES[name].pattern)) == {"new.py"}


ENGINE = "system/jobs"
JOB_UNITS = {kind.unit for kind in ALL}
ASKS = ("state", "states", "active_state", "is_active", "is_working", "is_under_way")
BESIDE_THE_ENGINE = {
    "storage/assemble/grown_legs.py": "a start of the arrays opens a change, whose job lies above it",
    "cli/worker/resident.py": "the units of its periods, each of which looks whether anything is due",
    "measure/bench/run/bench_job.py": "its limits of processors are properties of its unit",
}
"""Who starts, stops or asks the unit of a job in another way than `system/jobs`, and why."""


def units_of_jobs(text: str) -> Iterator[str]:
    """Yield what names the unit of a job in a program, and each question or order of systemd for a unit of its own."""
    tree = ast.parse(text)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in JOB_UNITS and id(node) not in said:
            yield str(node.value)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            words = [
                word
                for argument in node.args
                for word in (argument.elts if isinstance(argument, ast.List) else [argument])
            ]
            tool = any(isinstance(word, ast.Constant) and word.value == "systemctl" for word in words)
            unit = any(isinstance(word, ast.Attribute) and word.attr == "unit" for word in words)
            if unit and (tool or name in ASKS):
                yield ast.unparse(node)


def test_units_of_jobs_are_those_of_the_engine() -> None:
    texts = {str(path.relative_to(PACKAGE)): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    found = {name for name, text in texts.items() if not name.startswith(ENGINE) and any(units_of_jobs(text))}
    assert found == set(BESIDE_THE_ENGINE), f"{ENGINE} starts, stops and asks the unit of a job"


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('UNIT = "millrace-erase.service"', 1),
        ('run(["systemctl", "stop", kinds.SCRUB.unit])', 1),
        ("is_active(JOB.unit, run)", 1),
        ("units.state(JOB.unit, run)", 1),
        ('"""Started by millrace-erase.service."""', 0),
        ('"""millrace-erase.service"""', 0),
        ('raise Failed(f"see `journalctl -u {JOB.unit}`")', 0),
        ('UNIT = "millrace-readd.service"', 0),
    ],
)
def test_second_way_to_a_job_is_found(line: str, count: int) -> None:
    assert len(list(units_of_jobs(line))) == count


STORED = ("when", "fromisoformat", "fromtimestamp", "strptime")
FROM_FILES = ("st_mtime", "st_ctime", "st_atime")
AGES_OF_THEIR_OWN = {
    "system/ages.py": "it has the way",
    "storage/assemble/failures.py": "it dates lines of the kernel's log, whose clock never jumps",
}
"""Who subtracts a time of the clock in another way than `system/ages.py`, and why."""


def is_of_the_clock(node: ast.expr, names: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a stored time, the time of a file, or that of now by a clock that may jump."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(attr=attribute):
            return attribute in FROM_FILES
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr="time" | "time_ns")):
            return True
        case ast.Call(func=ast.Attribute(attr=method, value=value)):
            return method in STORED or (method in ("astimezone", "timestamp") and is_of_the_clock(value, names))
        case ast.Call(func=ast.Name(id=name)):
            return name in STORED
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            return is_of_the_clock(left, names)
        case ast.IfExp(body=body, orelse=other):
            return is_of_the_clock(body, names) or is_of_the_clock(other, names)
    return False


def ages_in(tree: ast.AST) -> list[int]:
    """Return the lines that subtract a time of the clock from another, also one that has a name in its function."""
    lines = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module | ast.Lambda):
            continue
        bound = frozenset(
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and is_of_the_clock(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        )
        names = frozenset() if isinstance(function, ast.Module) else bound
        lines += [
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and is_of_the_clock(node.right, names)
        ]
    return sorted(set(lines))


def test_no_age_is_computed_beside_the_one_way() -> None:
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if (lines := ages_in(ast.parse(path.read_text())))
    }
    others = {name: lines for name, lines in found.items() if name not in AGES_OF_THEIR_OWN}
    assert others == {}, "how old something is: millrace.system.ages"


@pytest.mark.parametrize(
    "line",
    [
        "age = now - datetime.fromisoformat(last.started)",
        "age = time.time() - path.stat().st_mtime",
        "at = ages.when(record.at)\n    return now - at",
        "return datetime.now(UTC) - datetime.fromtimestamp(seconds, UTC)",
        "return abs((ages.when(one) - ages.when(other).astimezone(UTC)).total_seconds())",
        "since = time.time()\n    return uptime - since",
    ],
)
def test_age_of_its_own_is_found(line: str) -> None:
    assert ages_in(ast.parse(f"def f():\n    {line}\n")) != []


@pytest.mark.parametrize("line", ["return time.monotonic() - began", "at = ages.when(a) - timedelta(days=1)"])
def test_other_differences_are_no_ages(line: str) -> None:
    assert ages_in(ast.parse(f"def f():\n    {line}\n")) == []
