# SPDX-License-Identifier: Apache-2.0
"""The administrator's file overrides the credential; a mistake in it is an error with file and key."""

from pathlib import Path

import pytest

from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_file import load_policy, parse_policy
from millrace.system import paths
from millrace.system.errors import BadInput


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def networks(*names: str) -> str:
    return f"[nfs]\nnetworks = {list(names)}\n"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_no_policy_is_the_defaults() -> None:
    assert load_policy() == Policy()
    assert load_policy().nfs.privileged_ports is True


def test_the_file_wins_over_the_credential_of_this_boot(root: Path) -> None:
    put(root / "run/millrace/policy.toml", networks("10.1.0.0/16"))
    assert load_policy().nfs.networks == ["10.1.0.0/16"]
    put(root / "etc/millrace/policy.toml", networks("10.2.0.0/16"))
    assert load_policy().nfs.networks == ["10.2.0.0/16"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[nfs]\nnetwork = []\n", "nfs.network: unknown key"),
        ("[smb]\n", "smb: unknown key"),
        (networks("10.0.0.1/8"), "nfs.networks"),
        ("[nfs]\nprivileged_ports = 7\n", "nfs.privileged_ports"),
        ("[nfs\n", "not valid TOML"),
        ('[layout]\nresilience = "none"\n', "layout.resilience"),
        ("[layout]\nlegs = 0\n", "layout.legs"),
        ('[layout]\nlegs = "2"\n', "layout.legs"),
        ("[layout]\nlegs = true\n", "layout.legs"),
        ("[layout]\nspares = -1\n", "layout.spares"),
        ("[layout]\nchunk_kib = 96\n", "layout.chunk_kib: must be a power of two"),
        ('[layout]\nlevel = "raid6"\nresilience = "single"\n', "layout: level raid6 contradicts resilience single"),
        ('[layout]\nlevel = "raid50"\nlegs = 1\n', "layout: level raid50 contradicts legs 1"),
        ('[log]\nmode = "disk"\n', "log.mode"),
        ("[log]\nsize_mib = 4096\n", "log.size_mib"),
        ("[xfs]\nagcount = 32.5\n", "xfs.agcount"),
        ('[xfs]\nmount_options_extra = ["a,b"]\n', "xfs.mount_options_extra: 'a,b' is not one mount option"),
        ('[xfs]\nmount_options_extra = ["logdev=/dev/sda"]\n', "is set by Millrace"),
        *(
            (f'[xfs]\nmount_options_extra = ["swalloc", "{option}"]\n', "always mounted nosuid,nodev,noexec")
            for option in ("suid", "dev", "exec", "exec=1", "defaults")
        ),
        (networks("0.0.0.0/0"), "nfs.networks: '0.0.0.0/0' is everybody"),
        (networks("::/0"), "nfs.networks: '::/0' is everybody"),
        (networks("10.0.0.0/24", "128.0.0.0/1"), "nfs.networks: '128.0.0.0/1' is too large"),
        ("[nfsd]\nmax_block_size = 1000000\n", "nfsd.max_block_size: must be a multiple of 4096"),
        ("[nfsd]\nlease_time = 5\n", "nfsd.lease_time"),
        ('[nfsd]\nio_cache_read = "async"\n', "nfsd.io_cache_read"),
        ("[nfsd]\nlease_time = 60\ngrace_time = 45\n", "nfsd: grace_time 45 is shorter than lease_time 60"),
        ("[md]\nstripe_cache_size = 32769\n", "md.stripe_cache_size"),
        ("[ports]\nrx_usecs = 1001\n", "ports.rx_usecs"),
        ('[ports]\nrx_usecs = "off"\n', "ports.rx_usecs"),
        ("[ports]\ninterrupt_cores = 0\n", "ports.interrupt_cores"),
        ("[ports]\nmost_queues = 0\n", "ports.most_queues"),
        ("[ports]\nrx_ring = 63\n", "ports.rx_ring"),
        ('[ports]\ntx_ring = "adaptive"\n', "ports.tx_ring"),
        ("[smbd]\nmax_credits = 127\n", "smbd.max_credits"),
        ("[smbd]\naio_min_bytes = 0\n", "smbd.aio_min_bytes"),
        ('[drives]\nexclude = [""]\n', "drives.exclude"),
        *(
            (f'[journal]\nforward = "{url}"\n', "is not a receiver of the journal: write it like https://logs")
            for url in (
                "logs.example.com",
                "ftp://logs.example.com",
                "https://",
                "https://logs.example.com:0",
                "https://logs.example.com:65536",
                "https://logs.example.com/upload",
                "https://user@logs.example.com",
                "https://10.0.0",
                "https://10.0.0.256",
                "https://[fe80::1%eth0]",
                "https://[logs]",
                "https://logs example.com",
                "https://logs.example.com\\nURL=http://evil",
            )
        ),
        ("[journal]\nforward = 19532\n", "journal.forward"),
        ('[journal]\nforward = "https://logs"\nca = "ca.pem"\n', "'ca.pem' is not the absolute path"),
        ('[journal]\nforward = "https://logs"\nca = "/etc/../ca pem"\n', "is not the absolute path"),
        ('[journal]\nforward = "http://logs"\nca = "/etc/ca.pem"\n', "journal: ca requires forward with https://"),
        ('[journal]\nca = "/etc/ca.pem"\n', "journal: ca requires forward with https://"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=r"policy\.toml") as error:
        parse_policy(text, "/etc/millrace/policy.toml")
    assert words in str(error.value)
