# SPDX-License-Identifier: Apache-2.0
"""Programs for clients run with Python 3.8 and its standard library.

vermin checks the version of each name and of the syntax. Besides, each program is run with the oldest Python of this
host: 3.8 where a package or pyenv installed it, else that of the tests (Debian 12 has 3.11).
The ids of the tests name it.
"""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import millrace_client
from millrace.measure.bench.result import fio_output
from millrace_client import pack
from tests.fakes import fio_server
from tests.unit.measure.bench.remotes import TOKEN, tool
from tests.unit.measure.bench.sites import request, site
from tests.unit.measure.client.servers import expectation
from tests.unit.millrace_client.pythons import OLDEST, oldest, version

HOME = Path(millrace_client.__file__).parent
PROGRAMS = [*sorted(HOME.glob("*.py")), Path(fio_server.__file__)]
SAMPLES = Path(__file__).parents[1] / "measure/bench/samples"
WITH_OLDEST = pytest.mark.parametrize("python", [pytest.param(oldest(), id=version())])


def finished(argv: list[str], **environment: str) -> "subprocess.CompletedProcess[str]":
    """A program that has ended; it sees `environment` and nothing else of this one."""
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment, timeout=120)


def bundled(directory: Path, profiles: list[str]) -> Path:
    """The benchmark's program as clients have it."""
    from millrace.measure.bench.plan.client_program import bundle

    program = directory / "millrace-bench.pyz"
    program.write_bytes(bundle(request(profiles=profiles, size=64 << 20, seconds=1, repeats=1), site()))
    return program


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_program_needs_no_newer_python(program: Path) -> None:
    target = f"--target={'.'.join(map(str, OLDEST))}-"
    checker = [sys.executable, "-c", "import vermin; vermin.main()", target, "--violations", str(program)]
    done = finished(checker, **os.environ)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_program_imports_only_the_standard_library_and_its_siblings(program: Path) -> None:
    nodes = list(ast.walk(ast.parse(program.read_text())))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names | {"millrace_client"}


@pytest.mark.parametrize("name", ["au.py", "kvcache.py"])
def test_a_program_of_one_file_has_no_siblings(name: str) -> None:
    assert "millrace_client import" not in millrace_client.source(name)


@WITH_OLDEST
def test_check_runs_alone_and_reports_what_to_fix(tmp_path: Path, python: str) -> None:
    script, expect = tmp_path / "check.pyz", tmp_path / "expect.json"
    script.write_bytes(pack.check("nvidia"))
    expect.write_text(json.dumps(expectation()))
    done = finished([python, "-I", "-S", str(script), str(tmp_path), "--expect", str(expect)], PATH=os.environ["PATH"])
    assert (done.returncode, done.stderr) == (1, "")
    assert "FAIL    mount: nothing from a server is mounted" in done.stdout


SEES = """
import sys
sys.path.insert(0, sys.argv[1])
from millrace_client import check, gpu, this_client
found = gpu.examine(sys.argv[2], sys.argv[3], {}, "", this_client.System(sys.argv[3]))
print(check._own_gpu(), *(one.status for one in found))
"""


@WITH_OLDEST
@pytest.mark.parametrize("maker", ["nvidia", "amd"])
def test_check_has_the_list_of_versions_with_it(tmp_path: Path, python: str, maker: str) -> None:
    script = tmp_path / "check.pyz"
    script.write_bytes(pack.check("amd"))
    done = finished([python, "-I", "-S", "-c", SEES, str(script), maker, str(tmp_path)], PATH="/nowhere")
    assert done.stderr == ""
    assert done.stdout.startswith("amd FAIL UNSEEN ")


@WITH_OLDEST
def test_bench_is_one_file_that_needs_nothing_else(tmp_path: Path, python: str) -> None:
    argv = [python, "-I", "-S", str(bundled(tmp_path, ["seq"]))]
    done = finished([*argv, "--help"])
    assert (done.returncode, "--listen SERVER" in done.stdout) == (0, True)
    tool(tmp_path / "bin", "fio", "echo fio-3.41")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = finished([*argv, "--listen", "no-such-host.invalid"], PATH=path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert "needs root and systemd" in done.stderr or "does not resolve" in done.stderr
    done = finished([*argv, str(tmp_path)], PATH=path)
    assert (done.returncode, done.stderr) == (
        1,
        f"{tmp_path} is not in a share of a server: mount one (`millrace client recipe`), then name it\n",
    )


MOUNTED = """
import sys
sys.path.insert(0, sys.argv[0])
from millrace_client import by_hand
real = by_hand.mounted
by_hand.mounted = lambda directory, table: real(directory, "server:/data %s nfs4 rw,vers=4.2 0 0\\n" % directory)
sys.exit(by_hand.measure(sys.argv[1], sys.argv[2], {}))
"""


@WITH_OLDEST
def test_bench_measures_by_hand(tmp_path: Path, python: str) -> None:
    program, share, result = bundled(tmp_path, ["mixed", "kvcache"]), tmp_path / "share", tmp_path / "result"
    share.mkdir()
    tool(tmp_path / "bin", "fio", f"cat {SAMPLES}/status-interval.json")
    start = f"import sys; sys.argv = {[str(program), str(share), str(result)]}"
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = finished([python, "-I", "-S", "-c", start + MOUNTED], PATH=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert {rung["id"]: rung["error"] for rung in json.loads(result.read_text())["rungs"]} == {
        "mixed/mixed": None,
        "kvcache/stress": None,
        "kvcache/throughput": None,
        "kvcache/large": None,
    }
    assert os.listdir(share) == []


@WITH_OLDEST
def test_bench_keeps_accelerators_busy(tmp_path: Path, python: str) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/f.0.0").write_bytes(bytes(4096))
    load = ["au", str(tmp_path / "files"), "retinanet", "--accelerator", "B200", "--count", "1", "--seconds", "0.1"]
    done = finished([python, "-I", "-S", str(bundled(tmp_path, ["seq"])), *load], PATH=os.environ["PATH"])
    assert (done.returncode, done.stderr) == (0, "")
    assert fio_output.final(done.stdout, 0, "")["probe"]["count"] == 1


LISTENING = """
import socket, sys, types
sys.path.insert(0, sys.argv[1])
from millrace_client import listen, sealed
door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
connection, peer = door.accept()
listen.run = lambda argv: (0, "")
listen.serve(connection, listen.Client(peer[0]), {"program": 3, "host": "gpu1"}, sys.argv[2])
"""


@WITH_OLDEST
def test_listening_client_exchanges_sealed_lines(tmp_path: Path, python: str) -> None:
    from millrace.measure.bench.run.remote import connection

    argv = [python, "-I", "-S", "-c", LISTENING, str(bundled(tmp_path, ["seq"])), TOKEN]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        port = int(client.stdout.readline())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(connection.listen, "PORT", port)
            with pytest.raises(connection.Unreachable, match="is not the program of"):
                # it knows the token, and its facts are those of this test, which lack the rest
                connection.ClientConnection("gpu1", "127.0.0.1", TOKEN)
        assert client.wait(10) == 0
