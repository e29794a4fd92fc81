# SPDX-License-Identifier: Apache-2.0
"""An appliance whose tools behave: exportfs keeps a table, mount shows the directory, smbd lists what smb.conf says.

Changes of shares, users and files under /etc are made on it. A `Box` has hardware instead, a `World` what is on drives.
"""

import configparser
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.serve.account import second_factor
from millrace.serve.share.server import ShareServer
from millrace.system import nfs_client, paths, roles, tdb
from millrace.system.documents import write_model
from millrace.system.errors import Failed
from millrace.system.run import Result
from millrace.system.smb_passwords import PASSDB
from tests.fakes import exportfs, samba
from tests.fakes.accounts import Accounts
from tests.fakes.commands import GOOD, Commands
from tests.fakes.mounts import mount, unmount_all
from tests.fakes.passdb import FORM, transaction
from tests.fakes.projects import ProjectsOf
from tests.fakes.samples import SERVING, plan, pool, port, surroundings
from tests.fakes.sockets import listen

# as sysusers.d/millrace.conf has them
ROLE_GROUPS = {roles.CONSOLE: 1999, roles.OPERATORS: 1998, second_factor.GROUP: 1997}

# what smbclient 4.25 says of a tree that it may not open, and of leaving what was not entered
_NOT_ALLOWED = ["tcon failed: NT_STATUS_ACCESS_DENIED", "tdis failed: NT_STATUS_NETWORK_NAME_DELETED"]


class ShownDirectories:
    """What NFSv4 shows from its root: the directories that are exported to the client, and nothing else."""

    def __init__(self, appliance: "Appliance", other: str) -> None:
        self._appliance, self._other = appliance, other

    def inode(self, path: str) -> int:
        if path not in self._appliance.transient:
            raise Failed("no such file or directory")
        return (self._appliance.root / (self._other or path).lstrip("/")).stat().st_ino


class Appliance(Commands):
    """The runner of the stories."""

    TAKEN: ClassVar[Iterable[str]] = (
        *SERVING,
        "exportfs -s",
        "klist -k *",
        "nfs-session 127.0.0.1 [*]",
        "umount --force --lazy *",
        "rm -rf --one-file-system -- *",
        "systemctl show --property=ActiveState,Job *.service",
        "systemctl is-system-running",
        "smbclient -m SMB3_11 -A * -g -L 127.0.0.1",
        "smbclient -m SMB3_11 -A * //127.0.0.1/IPC$ -c *",
        "smbcontrol smbd close-share *",
        "smbstatus --json",
        "smbpasswd -c /dev/null -s -a *",
        "smbpasswd -c /dev/null -x *",
        "pdbedit -s /dev/null -L -w",
        "pdbedit -s /dev/null -L -v",
        "pdbedit -s /dev/null -r -u * -K 0",
        "pdbedit -s /dev/null -i smbpasswd:*",
        "pdbedit -s /dev/null -P *",
        "pdbedit -s /dev/null -P * -C *",
        "pwscore *",
        "chpasswd",
        "chpasswd --encrypted",
        "getent passwd *...",
        "getent group *...",
        "useradd --system --no-create-home --shell /usr/sbin/nologin *",
        "loginctl terminate-user *",
        "xfs_quota -x -c report?-p?-n?-N?-b /srv/pool",
        "xfs_quota -x -c limit?-p?* ...",
    )

    def __init__(self, root: Path, quotas: bool = True) -> None:
        super().__init__()
        self.root = root
        self.samba = samba.SambaSids(lambda: samba.netbios_name(root))
        unmount_all(root)
        unmount_all(root, process="self")
        self.table: dict[str, str] = {}
        self.transient: dict[str, str] = {}
        self.accounts = Accounts(root, {"passwd": {"admin": 1000, "root": 0}, "group": {"sudo": 27} | ROLE_GROUPS})
        self.smb_accounts: set[str] = set()
        # those whose kickoff time is 0; Samba's default is 6 February 2036
        self.everlasting: set[str] = set()
        self.nt_hashes: dict[str, str] = {}
        self.passdb_form = dict(FORM)
        self.policies: dict[str, str] = {}
        self.transactions = 0
        self._parsed: tuple[str, configparser.ConfigParser] | None = None
        self.usage = ""
        self.system = "degraded"
        self.tlshd = False
        (root / "srv/pool").mkdir(parents=True)
        self.projects = ProjectsOf(root / "srv/pool")
        (root / "proc/fs/nfsd").mkdir(parents=True)
        (root / "proc/locks").touch()
        options = "rw,noatime" + (",prjquota" if quotas else "")
        mount(root, "/dev/md127", "/srv/pool", "xfs", options)
        listen(root, "0.0.0.0:2049", "10.0.0.2:445")
        write_model(paths.pool_file(), pool())

    def passdb(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the program open the database of Samba on this server, whose accounts are in `smb_accounts`."""
        (self.root / PASSDB).parent.mkdir(parents=True, exist_ok=True)
        (self.root / PASSDB).touch()
        monkeypatch.setattr(tdb, "transaction", partial(transaction, self))

    def server(self, *networks: str) -> ShareServer:
        ports = [port("enp1s0", "10.0.0.2/24")]
        context = surroundings(networks or ("10.0.0.0/24",))
        return ShareServer(
            plan().nfsd, pool(), context, ports, self, lambda seconds: None, projects=self.projects.projects()
        )

    def opens_nfs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this server answer clients of NFS in user space."""
        monkeypatch.setattr(nfs_client, "session", self.nfs_session)

    def answers_for(self, monkeypatch: pytest.MonkeyPatch, *functions: str) -> None:
        """Let functions of the room, as `edit.preview`, change this server unless they are given another."""
        for name in functions:
            module, _, function = name.rpartition(".")
            there = import_module(f"millrace.serve.share.{module}")
            monkeypatch.setattr(there, function, partial(getattr(there, function), server=self.server))

    def exported(self) -> dict[str, str]:
        """What NFS clients may mount: the line of each directory."""
        return self.table

    def on_smb(self) -> configparser.ConfigParser:
        path = self.root / "etc/samba/smb.conf"
        text = path.read_text() if path.exists() else ""
        if self._parsed is None or self._parsed[0] != text:
            parser = configparser.ConfigParser(
                delimiters=("=",), comment_prefixes=("#",), interpolation=None, strict=True
            )
            parser.read_string(text)
            self._parsed = (text, parser)
        return self._parsed[1]

    def joined(self) -> None:
        """Give the server a keytab and a daemon that accepts tickets, as a member of AD.EXAMPLE.COM has them."""
        for name, text in (("etc/krb5.keytab", "keys"), ("proc/net/rpc/use-gss-proxy", "1\n")):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def _klist(self, words: list[str], stdin: str) -> Result:
        names = ["MILLRACE$", "nfs/millrace.ad.example.com"]
        return Result(0, "KVNO Principal\n" + "".join(f"   2 {name}@AD.EXAMPLE.COM\n" for name in names), "")

    def _exportfs(self, words: list[str], stdin: str) -> Result:
        if words[0] == "-ra":
            self.table = exportfs.exports(self.root, "millrace.exports")
            self.transient = exportfs.exports(self.root, "millrace-verify.exports")
            exportfs.write_table(self.root, self.table)
        elif words[0] == "-s":
            entries = [(path, client) for path, clients in self.table.items() for client in clients.split(" ")]
            return Result(0, "".join(f"{path}  {client}\n" for path, client in entries), "")
        return GOOD

    @contextmanager
    def nfs_session(self, address: str, tls: nfs_client.TlsClient | None = None) -> Iterator["ShownDirectories"]:
        """In the place of a client in user space, with faults and calls as those of a tool."""
        result = self(["nfs-session", address, *([tls.name] if tls else [])])
        if result.status:
            raise Failed(result.err.strip())
        lines = [f"{path}\t127.0.0.1(ro,all_squash)\n" for path in self.transient]
        (self.root / "proc/fs/nfsd/exports").write_text("# Version 1.1\n" + "".join(lines))
        yield ShownDirectories(self, result.out.strip())

    def _nfs_session(self, words: list[str], stdin: str) -> Result:
        return GOOD if self.transient else Result(1, "", "permission denied")

    def _umount(self, words: list[str], stdin: str) -> Result:
        shutil.rmtree(words[-1])
        Path(words[-1]).mkdir()
        unmount_all(self.root, process="self")
        return GOOD

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        if words[-1] == "tlshd.service":
            if words[0] == "is-active":
                return GOOD if self.tlshd else Result(3, "", "")
            self.tlshd = words[0] in ("start", "restart")
        if words[0] == "is-system-running":
            return Result(1, f"{self.system}\n", "")
        return Result(0, "Job=\nActiveState=active\n", "") if words[0] == "show" else GOOD

    def _smbclient(self, words: list[str], stdin: str) -> Result:
        credentials = dict(line.split("=", 1) for line in Path(words[words.index("-A") + 1]).read_text().splitlines())
        if credentials["username"] not in self.smb_accounts:
            return Result(1, "", "session setup failed: NT_STATUS_LOGON_FAILURE")
        served = [name for name in self.on_smb().sections() if name != "global"]
        if "-L" in words:
            return Result(0, "".join(f"Disk|{name}|\n" for name in served) + "IPC|IPC$|\n", "")
        names = re.findall(r"tcon (\S+?);", " ".join(words))
        lines, configuration = [], self.on_smb()
        for name in names:
            allowed = credentials["username"] in configuration[name]["valid users"].split()
            lines += [f"tcon to {name} successful, tid: 77", "tdis successful"] if allowed else _NOT_ALLOWED
        # its status is that of the last command
        return Result(0, "".join(f"{line}\n" for line in lines), "")

    def _tdbdump(self, words: list[str], stdin: str) -> Result:
        return self.samba.tdbdump(words)

    def _net(self, words: list[str], stdin: str) -> Result:
        return self.samba.net(words)

    def _smbpasswd(self, words: list[str], stdin: str) -> Result:
        if "-x" in words:
            self.smb_accounts.discard(words[-1])
            self.everlasting.discard(words[-1])
        else:
            assert re.fullmatch(r"(.+)\n\1\n", stdin)
            self.smb_accounts.add(words[-1])
        return GOOD

    def _pdbedit(self, words: list[str], stdin: str) -> Result:
        """A change of one account fails where there is none, as Samba 4.25.1's does; kickoff times are kept."""
        if "-P" in words:
            return self._account_policy(words[words.index("-P") + 1], words[-1] if "-C" in words else None)
        if "-i" in words:
            fields = [line.split(":") for line in Path(words[-1].removeprefix("smbpasswd:")).read_text().splitlines()]
            self.smb_accounts |= {row[0] for row in fields}
            self.nt_hashes |= {row[0]: row[3] for row in fields}
        if "-v" in words:
            return Result(0, samba.LISTED, "")
        if "-L" in words:
            hashes = {name: self.nt_hashes.get(name, "0" * 32) for name in sorted(self.smb_accounts)}
            rows = [f"{name}:0:{'X' * 32}:{value}:[U          ]:LCT-1:\n" for name, value in hashes.items()]
            return Result(0, "".join(rows), "")
        if "-r" not in words:
            return GOOD
        assert words == ["-s", "/dev/null", "-r", "-u", words[4], "-K", "0"]
        if words[4] not in self.smb_accounts:
            return Result(255, "", "Username not found!\n")
        self.everlasting.add(words[4])
        return GOOD

    def _account_policy(self, policy: str, value: str | None) -> Result:
        self.policies[policy] = self.policies.get(policy, "0") if value is None else value
        return Result(0, f'account policy "{policy}" value is: {self.policies[policy]}\n', "")

    def _chpasswd(self, words: list[str], stdin: str) -> Result:
        values = dict(line.split(":", 1) for line in stdin.splitlines())
        self.accounts.set_passwords(values if words else dict.fromkeys(values, "$y$of$a-password"))
        return GOOD

    def _pwscore(self, words: list[str], stdin: str) -> Result:
        """As libpwquality-tools 1.4.5 says it, with one rule of many: the name of the user."""
        [name] = words
        if name in stdin:
            return Result(1, "", "Password quality check failed:\n The password contains the user name in some form\n")
        return Result(0, "100\n", "")

    def _getent(self, words: list[str], stdin: str) -> Result:
        database, *keys = words
        numbers = self.accounts[database].read()
        names = {name: name for name in numbers} | {str(number): name for name, number in numbers.items()}
        lines = [
            f"{names[key]}:x:{numbers[names[key]]}:{numbers[names[key]]}::/:/bin/sh\n" for key in keys if key in names
        ]
        return Result(0 if len(lines) == len(keys) else 2, "".join(lines), "")

    def _useradd(self, words: list[str], stdin: str) -> Result:
        self.accounts["passwd"][words[-1]] = 999
        return GOOD

    def _loginctl(self, words: list[str], stdin: str) -> Result:
        """End the programs of a user, who is known by name."""
        number = self.accounts["passwd"][words[-1]]
        for status in (self.root / "proc").glob("[0-9]*/status"):
            if f"Uid:\t{number}\t" in status.read_text():
                shutil.rmtree(status.parent)
        return GOOD

    def _xfs_quota(self, words: list[str], stdin: str) -> Result:
        return Result(0, self.usage if words[2].startswith("report") else "", "")


def remove_trees(appliance: Appliance) -> None:
    """Let `rm` of this server remove the tree that it is given last, as well as be recorded."""
    plain = appliance.__class__.__call__

    def removing(self: Appliance, argv: list[str], stdin: str | None = None) -> Result:
        if argv[0] == "rm":
            shutil.rmtree(argv[-1])
        return plain(self, argv, stdin)

    appliance.__class__ = type("Removing", (Appliance,), {"__call__": removing})
