# SPDX-License-Identifier: Apache-2.0
"""Records that writers in a server make durable one after the other, and what of them may be found after a power cut.

A record is a block of 4096 bytes with its writer's name and its number. Each writer waits for its record to be durable,
says so in the kernel's trace, and goes on with the next: at any moment at most one of its records is in between.
"""

from collections.abc import Mapping, Sequence

POOL, NFS = "/srv/pool/data", "/run/nfs"
# Has a file for each writer that has made enough records durable.
ENOUGH = "/run/enough"
# How many records a file of appends has, how many places are written over and over, how many names are renamed to.
FILE, SLOTS, NAMES = 64, 32, 8
KINDS = ("append", "overwrite", "rename", "create")
# Each on the file system itself, and through NFS.
WRITERS = {f"{kind}-{way}": place for kind in KINDS for way, place in (("pool", POOL), ("nfs", NFS))}
# Writes when all others have ended: nothing but its own next record flushes what it made durable.
ALONE = "append-alone"
# Waits for nothing; its files may have any of their records or none, but nothing else.
CARELESS = "careless-pool"
ZEROS, FOREIGN = "zeros", "foreign"

RECORD = """
import hashlib, json, os, sys, time
def record(writer, number):
    seed = hashlib.sha256(f"{writer} {number}".encode()).digest()
    return f"{writer} {number} ".encode().ljust(64) + seed * 126
"""

WRITER_PROGRAM = f"""
{RECORD}
marker = os.open("/sys/kernel/tracing/trace_marker", os.O_WRONLY)
def write(path, data, offset=0, flags=0):
    file = os.open(path, os.O_CREAT | os.O_WRONLY | flags, 0o644)
    assert os.pwrite(file, data, offset) == len(data)
    if not flags:
        os.fsync(file)
    os.close(file)
def keep(directory):
    file = os.open(directory, os.O_RDONLY)
    os.fsync(file)
    os.close(file)
def append(directory, writer, number):
    write(f"{{directory}}/{{number // {FILE}}}", record(writer, number), number % {FILE} * 4096)
    if number % {FILE} == 0:
        keep(directory)
def overwrite(directory, writer, number):
    write(f"{{directory}}/slots", record(writer, number), number % {SLOTS} * 4096, os.O_DSYNC)
    if number == 0:
        keep(directory)
def rename(directory, writer, number):
    write(f"{{directory}}/.new", record(writer, number) * (1 + number % 5))
    os.rename(f"{{directory}}/.new", f"{{directory}}/{{number % {NAMES}}}")
    keep(directory)
def create(directory, writer, number):
    write(f"{{directory}}/{{number}}", record(writer, number) * (1 + number % 3 * 30))
    keep(directory)
def careless(directory, writer, number):
    with open(f"{{directory}}/{{number % 40}}", "wb") as file:
        file.write(record(writer, number) * 64)
    time.sleep(0.2)
for writer, place in json.loads(sys.argv[1]).items():
    if os.fork():
        continue
    number, kind = 0, writer.partition("-")[0]
    while not os.path.exists("/run/stop"):
        globals()[kind](f"{{place}}/{{writer}}", writer, number)
        os.write(marker, f"acked {{writer}} {{number}}".encode())
        if number == int(sys.argv[2]):
            open(f"{ENOUGH}/{{writer}}", "w").close()
        number += 1
    sys.exit()
while True:
    try:
        _, status = os.wait()
    except ChildProcessError:
        break
    assert status == 0
"""

READER_PROGRAM = f"""
{RECORD}
def verdict(writer, block):
    if block == bytes(4096):
        return "{ZEROS}"
    words = block[:64].split()
    if len(words) < 2 or words[0].decode("ascii", "replace") != writer or not words[1].isdigit():
        return "{FOREIGN}"
    number = int(words[1])
    return number if block == record(writer, number) else "{FOREIGN}"
found = dict()
for writer in sys.argv[1:]:
    found[writer] = dict()
    for entry in os.scandir(f"{POOL}/{{writer}}"):
        with open(entry.path, "rb") as file:
            found[writer][entry.name] = [verdict(writer, block) for block in iter(lambda: file.read(4096), b"")]
json.dump(found, sys.stdout)
"""

Found = Mapping[str, Mapping[str, Sequence[int | str]]]


def acknowledged(texts: Sequence[str]) -> dict[str, int]:
    """Return the last record that each writer said is durable; -1 where there is none."""
    last = dict.fromkeys((*WRITERS, ALONE), -1)
    for text in texts:
        word, writer, number = text.split()
        assert word == "acked"
        if writer in last:
            assert int(number) == last[writer] + 1
            last[writer] = int(number)
    return last


def losses(found: Found, last: Mapping[str, int]) -> list[str]:
    """Return a sentence for each place that has not what it must have, given each writer's last durable record."""
    wrong = []
    for writer, number in last.items():
        wrong += [f"{writer}/{what}, {number} is durable" for what in _losses(writer, found[writer], number)]
    for name, blocks in found[CARELESS].items():
        if FOREIGN in blocks or len({block for block in blocks if block != ZEROS}) > 1:
            wrong.append(f"{CARELESS}/{name}: {blocks}")
    return wrong


def _losses(writer: str, files: Mapping[str, Sequence[int | str]], last: int) -> list[str]:
    kind = writer.partition("-")[0]
    if kind == "append":
        there = [block for name in sorted(files, key=int) for block in files[name]]
        return [] if there in (list(range(last + 1)), list(range(last + 2))) else [f"*: {there[-FILE:]}"]
    if kind == "overwrite":
        return _places({str(place): [block] for place, block in enumerate(files.get("slots", []))}, last, SLOTS, 1)
    named = {name: blocks for name, blocks in files.items() if name != ".new"}
    if kind == "rename":
        return _places(named, last, NAMES, 5)
    wrong = [f"{number}: {named.get(str(number))}" for number in range(last + 1) if not _full(named, number)]
    later = {name: blocks for name, blocks in named.items() if int(name) > last}
    # what was being written has its beginning, or nothing
    expected = {str(last + 1): [last + 1] * len(later.get(str(last + 1), []))}
    return wrong + ([f"later: {later}"] if later and later != expected else [])


def _full(files: Mapping[str, Sequence[int | str]], number: int) -> bool:
    return list(files.get(str(number), [])) == [number] * (1 + number % 3 * 30)


def _places(files: Mapping[str, Sequence[int | str]], last: int, places: int, sizes: int) -> list[str]:
    """Places that are written in turn have the last durable record for them, or the one that was being written."""
    wrong = []
    for place in range(places):
        durable = last - (last - place) % places
        allowed = [[number] * (1 + number % sizes) for number in {durable, last + 1} if number % places == place]
        blocks = list(files.get(str(place), []))
        if durable < 0:
            # never written: not there, or skipped by a later place of the same file
            allowed += [[], [ZEROS]]
        if blocks not in allowed:
            wrong.append(f"{place}: {blocks}")
    return wrong
