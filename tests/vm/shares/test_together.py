# SPDX-License-Identifier: Apache-2.0
"""People of one share write together by its rule: over NFS, over SMB, across, and in what was there before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import HOST, PASSWORD
from vm.machine import Machine

# as a careful administrator sets it for everyone of a client
UMASK = "umask 077"
PEOPLE = ("lena", "omar", "rosa")
# Statuses of SMB, as smbclient prints them.
DENIED = "NT_STATUS_ACCESS_DENIED"
# Access that Windows asks for ([MS-SMB2] 2.2.13.1.1).
EXECUTE, READ_AND_EXECUTE, ALL_ACCESS, GENERIC_ALL = "20", "a0000000", "1f01ff", "10000000"


class Person(NamedTuple):
    """A user of the server, on the client: over NFS by number, over SMB by password."""

    name: str
    uid: int


@pytest.fixture(scope="module")
def people(box: Box, client: Machine) -> Iterator[dict[str, Person]]:
    """Lena and omar are in the group crew, and rosa is not."""
    box.millrace("group create crew", seconds=300)
    made = {}
    for name in PEOPLE:
        member = ["--group", "crew"] if name != "rosa" else []
        words = ["millrace", "user", "create", name, *member, "--password-stdin"]
        box.machine.run(words, stdin=PASSWORD + "\n", seconds=300)
        client.run(f"umask 077; cat > /run/{name}", stdin=f"username={name}\npassword={PASSWORD}\n")
        made[name] = Person(name, int(box.say(f"id -u {name}")))
    yield made
    for share in ("crew", "open", "own", "fast"):
        box.millrace(f"share remove {share} --delete-data {share}", seconds=600, check=False)
    for name in PEOPLE:
        box.millrace(f"user remove {name}", seconds=300)
    box.millrace("group remove crew", seconds=300)


class Place:
    """One share on the client: mounted once over NFS, and over SMB for each person."""

    def __init__(self, client: Machine, share: str, people: dict[str, Person]) -> None:
        self._client, self._share, self._people = client, share, people

    def nfs(self, name: str, line: str) -> bool:
        """Whether a shell line of a person succeeds in the share over NFS."""
        uid = self._people[name].uid
        become = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
        return self._ends_well(f"{become} sh -c 'cd /mnt/{self._share}-nfs && {UMASK}; {line}'")

    def smb(self, name: str, line: str) -> bool:
        """Whether a shell line succeeds in the share over SMB, as this person."""
        return self._ends_well(f"cd /mnt/{self._share}-{name} && {UMASK}; {line}")

    def over(self, protocol: str, name: str, line: str) -> bool:
        """Whether a shell line of a person succeeds over a protocol."""
        return self.nfs(name, line) if protocol == "nfs" else self.smb(name, line)

    def _ends_well(self, line: str) -> bool:
        return self._client.run(line, check=False, seconds=300).status == 0


@contextmanager
def opened(client: Machine, share: str, people: dict[str, Person], over_smb: tuple[str, ...]) -> Iterator[Place]:
    """Mount a share; `over_smb` are the people who may."""
    # no caches of names and modes: what another one did counts at once
    mounts = [(f"{share}-nfs", f"-t nfs4 -o vers=4.2,noac {HOST}:/srv/pool/{share}")]
    for name in over_smb:
        # the client leaves the decision to the server
        options = f"vers=3.1.1,seal,actimeo=0,noperm,file_mode=0777,dir_mode=0777,credentials=/run/{name}"
        mounts.append((f"{share}-{name}", f"-t cifs -o {options} //{HOST}/{share}"))
    done = []
    try:
        for where, words in mounts:
            client.run(f"mkdir -p /mnt/{where}; mount {words} /mnt/{where}", seconds=300)
            done.append(where)
        yield Place(client, share, people)
    finally:
        for where in done:
            client.run(f"umount /mnt/{where}", seconds=300)


PAIRS = [("nfs", "nfs"), ("smb", "smb"), ("nfs", "smb"), ("smb", "nfs")]


def writes_together(place: Place, first: str, second: str) -> None:
    """Lena creates over one protocol, and omar changes, renames and deletes over the other one."""
    tree = f"{first}-{second}"
    make = f"mkdir -p {tree}/deep && echo a > {tree}/deep/file && echo a > {tree}/deep/other"
    assert place.over(first, "lena", make)
    for line in (
        f"echo b > {tree}/deep/file",
        f"echo new > {tree}/deep/of-omar",
        f"mv {tree}/deep/file {tree}/deep/renamed",
        f"rm {tree}/deep/other",
    ):
        assert place.over(second, "omar", line), (tree, line)
    for line in (f"echo c >> {tree}/deep/of-omar", f"rm -r {tree}"):
        assert place.over(first, "lena", line), (tree, line)


def test_everyone_of_a_share_writes_everything(box: Box, client: Machine, people: dict[str, Person]) -> None:
    box.millrace("share create open --smb-user lena --smb-user omar", seconds=600)
    assert box.say("stat -c %A%U%G /srv/pool/open") == "drwxrwxrwxrootroot"
    with opened(client, "open", people, ("lena", "omar")) as place:
        for first, second in PAIRS:
            writes_together(place, first, second)
    refused = client.run(f"smbclient -A /run/rosa //{HOST}/open -c ls", check=False, seconds=300)
    assert refused.status != 0 and DENIED in refused.out + refused.err


def test_members_of_a_group_write_everything_and_others_nothing(
    box: Box, client: Machine, people: dict[str, Person]
) -> None:
    said = box.millrace("share create crew --group crew", seconds=600).out
    assert "SMB: crew is listed and accessible" in said and "opened from this server" in said
    assert box.say("stat -c %a%U%G /srv/pool/crew") == "2770rootcrew"
    with opened(client, "crew", people, ("lena", "omar")) as place:
        for first, second in PAIRS:
            writes_together(place, first, second)
        assert place.nfs("lena", "echo secret > file")
        assert not place.nfs("rosa", "cat file") and not place.nfs("rosa", "touch new")
    assert box.say("stat -c %G /srv/pool/crew/file") == "crew"
    refused = client.run(f"smbclient -A /run/rosa //{HOST}/crew -c ls", check=False, seconds=300)
    assert refused.status != 0 and DENIED in refused.out + refused.err
    box.say("rm /srv/pool/crew/file")


def test_some_write_and_all_others_read(box: Box, client: Machine, people: dict[str, Person]) -> None:
    box.millrace("share set crew --writing some --smb-group crew --smb-user rosa", seconds=600)
    assert box.say("stat -c %a /srv/pool/crew") == "2775"
    with opened(client, "crew", people, PEOPLE) as place:
        for first, second in PAIRS:
            writes_together(place, first, second)
        for protocol in ("nfs", "smb"):
            assert place.over(protocol, "lena", f"mkdir {protocol}; echo a > {protocol}/file")
            for other in ("nfs", "smb"):
                assert place.over(other, "rosa", f"cat {protocol}/file")
                for line in (f"echo b > {protocol}/file", f"touch {protocol}/new", f"rm {protocol}/file", "touch new"):
                    assert not place.over(other, "rosa", line), (protocol, other, line)
    box.say("rm -r /srv/pool/crew/nfs /srv/pool/crew/smb")


def test_each_user_changes_only_their_own(box: Box, client: Machine, people: dict[str, Person]) -> None:
    box.millrace("share create own --writing own --smb-user lena --smb-user omar", seconds=600)
    assert box.say("stat -c %a /srv/pool/own") == "1777"
    with opened(client, "own", people, ("lena", "omar")) as place:
        for protocol in ("nfs", "smb"):
            assert place.over(protocol, "lena", f"echo a > {protocol}")
            for other in ("nfs", "smb"):
                for line in (f"echo b > {protocol}", f"rm {protocol}", f"mv {protocol} away"):
                    assert not place.over(other, "omar", line), (protocol, other, line)


@pytest.mark.parametrize("share", ["open", "fast"])
def test_program_starts_for_others_and_its_owner_has_full_control(
    box: Box, client: Machine, people: dict[str, Person], share: str
) -> None:
    if share == "fast":
        own = "--type training --no-nfs --writing own"
        box.millrace(f"share create fast {own} --smb-user lena --smb-user omar", seconds=600)
    client.run("cat > /run/opens.py", stdin=(Path(__file__).parent / "opens.py").read_text())
    for program in ("tool", "from-nfs") if share == "open" else ("tool",):
        if program == "tool":
            put = f"smbclient -A /run/lena //{HOST}/{share} -c 'put /run/opens.py {program}'"
            client.run(put, seconds=300)
        else:
            with opened(client, share, people, ()) as place:
                assert place.nfs("lena", f"echo program > {program}; chmod 644 {program}")
        for name in ("lena", "omar"):
            ask = f"python3 /run/opens.py {HOST} {share} /run/{name} {program} {EXECUTE} {READ_AND_EXECUTE}"
            assert client.run(ask, seconds=300).out.split() == ["ok", "ok"], (program, name)
    ask = f"python3 /run/opens.py {HOST} {share} /run/lena tool {ALL_ACCESS} {GENERIC_ALL}"
    assert client.run(ask, seconds=300).out.split() == ["ok", "ok"]


def listed(client: Machine, share: str, file: str, *more: str) -> str:
    """What smbcacls prints of a file, as lena; with `more`, of a change of its access list."""
    words = ["smbcacls", "-A", "/run/lena", f"//{HOST}/{share}", file, *more]
    done = client.run(words, check=False, seconds=300)
    return done.out + done.err


def test_an_access_list_that_denies_is_refused_and_one_that_allows_counts(
    box: Box, client: Machine, people: dict[str, Person]
) -> None:
    assert "are refused" in box.millrace("share show own").out
    client.run(f"echo a > /run/one; smbclient -A /run/lena //{HOST}/own -c 'put /run/one listed'", seconds=300)
    before = listed(client, "own", "listed")
    for name in ("omar", "lena", "Everyone"):
        assert "NT_STATUS_NOT_SUPPORTED" in listed(client, "own", "listed", "-a", f"ACL:{name}:DENIED/0x0/READ"), name
    assert listed(client, "own", "listed") == before
    with opened(client, "own", people, ("lena", "omar")) as place:
        assert not place.smb("omar", "echo b > listed")
        assert listed(client, "own", "listed", "-a", "ACL:omar:ALLOWED/0x0/FULL") == ""
        assert place.smb("omar", "echo b > listed") and place.nfs("omar", "echo b > listed")


# by hand: it takes more minutes than CI has
@pytest.mark.soak
def test_what_was_there_before_follows_the_rule_when_asked(
    box: Box, client: Machine, people: dict[str, Person]
) -> None:
    before = box.say("stat -c '%a %u %g %z' /etc/shadow")
    lena = people["lena"].uid
    box.say(
        "mkdir -p /srv/pool/open/old/deep && cd /srv/pool/open/old && echo a > deep/file && echo a > linked "
        f"&& ln linked /srv/pool/linked && ln -s /etc/shadow shadow && chown -R -h {lena}:{lena} . && chmod -R go= ."
    )
    linked = box.say("stat -c '%a %u %g' /srv/pool/linked")
    try:
        with opened(client, "open", people, ("lena", "omar")) as place:
            assert not place.nfs("omar", "cat old/deep/file") and not place.smb("omar", "cat old/deep/file")
            said = box.millrace("share permissions open", seconds=600).out
            assert "have other permissions" in said and "1 files have several names (hard links)" in said
            assert not place.nfs("omar", "cat old/deep/file")
            done = box.millrace("share permissions open --apply", seconds=600).out
            assert "have new permissions" in done
            assert place.nfs("omar", "echo b > old/deep/file") and place.smb("omar", "echo c > old/deep/file")
        assert box.say("stat -c '%a %u %g %z' /etc/shadow") == before
        assert box.say("stat -c '%a %u %g' /srv/pool/linked") == linked
        (job,) = [job for job in box.shown("job list --json")["jobs"] if job["name"] == "permissions"]
        assert job["state"] == "done"
    finally:
        box.say("rm -rf /srv/pool/linked /srv/pool/open/old")
