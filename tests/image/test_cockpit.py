# SPDX-License-Identifier: Apache-2.0
"""The web console of the image is the appliance's: new enough, our pages first, nobody but people with a password."""

import configparser
import gzip
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from host.report import packages
from tests.image.test_image import chroot

# The first without CVE-2026-91150 and CVE-2026-91151.
LEAST = 372
# Prints the manifests as the bridge of a session has them, overrides applied.
MANIFESTS = """
import json
from cockpit.packages import PackagesLoader
print(json.dumps({one.path.name: dict(one) for one in PackagesLoader.load_manifests()}))
"""


@pytest.fixture(scope="module")
def manifests(tree: Path) -> dict[str, Any]:
    said = chroot(tree, "/usr/bin/python3", "-c", MANIFESTS)
    assert said.returncode == 0, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def test_cockpit_is_new_enough(tree: Path) -> None:
    installed = packages(tree / "usr/lib/sysimage/dpkg/status")
    versions = {one.name: one.version for one in installed if one.name.startswith("cockpit-")}
    assert {"cockpit-ws", "cockpit-bridge", "cockpit-system"} <= set(versions)
    # one with an epoch, or with a letter in front, cannot be compared
    numbers = {name: re.fullmatch(r"(\d+)(?:[-+.~].*)?", version) for name, version in versions.items()}
    assert {name: versions[name] for name, found in numbers.items() if not found or int(found[1]) < LEAST} == {}


def test_no_package_acts_on_disks_or_networks_behind_the_planner(manifests: dict[str, Any]) -> None:
    assert not {"storaged", "networkmanager", "packagekit", "sosreport", "machines", "podman"} & set(manifests)


def test_pages_of_cockpit_come_after_ours(manifests: dict[str, Any]) -> None:
    orders = {
        f"{package}/{page}": entry["order"]
        for package, manifest in manifests.items()
        for page, entry in manifest.get("menu", {}).items()
    }
    assert {"systemd/index", "systemd/logs", "systemd/services"} <= set(orders)
    assert min(order for page, order in orders.items() if not page.startswith("millrace/")) >= 80
    # accounts are made by millrace, which knows what SMB needs
    assert not [page for page in orders if page.startswith("users/")]
    assert manifests["systemd"]["menu"]["index"]["label"] == "System"


def test_console_speaks_the_languages_of_its_pages(manifests: dict[str, Any]) -> None:
    assert set(manifests["shell"]["locales"]) == {"en-us", "de-de"}


def test_no_page_leads_to_the_manual_of_another_product_or_to_a_history_that_is_not_kept(
    tree: Path, manifests: dict[str, Any]
) -> None:
    menus = [entry for manifest in manifests.values() for entry in manifest.get("menu", {}).values()]
    links = [link["url"] for entry in (*menus, manifests["shell"]) for link in entry.get("docs") or ()]
    assert [url for url in links if "redhat" in url] == []
    (condition,) = manifests["metrics"]["conditions"]
    assert not (tree / condition["path-exists"].lstrip("/")).exists()
    words = [word for one in manifests["systemd"]["menu"]["index"]["keywords"] for word in one["matches"]]
    assert not {"domain", "metrics", "history", "performance", "ssh"} & set(words)


def test_parts_of_cockpit_that_lead_nowhere_are_hidden(tree: Path) -> None:
    css = (tree / "usr/share/cockpit/branding/millrace/branding.css").read_text()
    page = gzip.decompress((tree / "usr/share/cockpit/systemd/overview.js.gz").read_bytes()).decode()
    named = re.findall(r"[.#]((?:system|tuned)[\w-]+)", css)
    assert len(set(named)) >= 7
    # a part that Cockpit renamed would be seen again
    assert [name for name in named if name not in page] == []
    assert "branding.css" in (tree / "usr/share/cockpit/systemd/index.html").read_text()


def test_no_banner_of_debian_is_shown(factory: Path) -> None:
    assert (factory / "motd").read_text() == ""


def test_who_signs_in_has_a_bus_of_their_own(tree: Path) -> None:
    """Without one, the second page that asks for it ends the session (Cockpit 372)."""
    users = tree / "usr/lib/systemd/user"
    assert (users / "dbus.socket").is_file()
    assert (users / "sockets.target.wants/dbus.socket").is_symlink()


def test_it_carries_the_name_of_the_product(tree: Path) -> None:
    release = (tree / "usr/lib/os-release").read_text()
    branding = tree / "usr/share/cockpit/branding" / re.search(r"^ID=(\S+)$", release, re.MULTILINE)[1]  # type: ignore[index]
    css = (branding / "branding.css").read_text()
    assert 'url("logo.svg")' in css and "${NAME}" in css
    assert "<title>Millrace</title>" in (branding / "logo.svg").read_text()
    assert (branding / "favicon.ico").read_bytes()[:4] == b"\0\0\1\0"


def test_sessions_end_and_root_has_none(factory: Path) -> None:
    config = configparser.ConfigParser()
    config.read(factory / "cockpit/cockpit.conf")
    assert 0 < config.getint("Session", "IdleTimeout") <= 30
    # Cockpit's own minute is too short for a slow server, and for a user who thinks of a new password
    assert config.getint("Basic", "timeout") >= 120 and config.getint("Basic", "response-timeout") >= 300
    assert config["WebService"]["LoginTitle"] == "Millrace"
    assert not config.getboolean("WebService", "AllowUnencrypted", fallback=False)
    assert "root" in (factory / "cockpit/disallowed-users").read_text().split()
    # without this line the file would mean nothing
    assert re.search(
        r"^account\s+required\s+pam_listfile\.so .*sense=deny file=/etc/cockpit/disallowed-users",
        (factory / "pam.d/cockpit").read_text(),
        re.MULTILINE,
    )


def test_root_s_rights_cost_one_s_own_password(tree: Path, factory: Path) -> None:
    rules = sorted(path.name for path in tree.glob("usr/share/polkit-1/rules.d/*.rules"))
    ours = tree / "usr/share/polkit-1/rules.d" / rules[0]
    # the first rule that answers is the one
    assert ours.name == "30-millrace.rules" and 'isInGroup("sudo")' in ours.read_text()
    sudoers = "".join(path.read_text() for path in [factory / "sudoers", *factory.glob("sudoers.d/*")])
    assert re.search(r"^%sudo\s+ALL=\(ALL:ALL\) ALL$", sudoers, re.MULTILINE)
    rules = re.sub(r"^\s*#.*$", "", sudoers, flags=re.MULTILINE)
    # operators and viewers start the program alone, which refuses what their role does not allow
    without = [line for line in rules.splitlines() if "NOPASSWD" in line]
    assert without == ["%millrace-console ALL=(root) NOPASSWD: /usr/bin/millrace"]
    assert stat.S_IMODE((factory / "sudoers.d/millrace").stat().st_mode) == 0o440


def test_users_of_shares_do_not_log_in_over_ssh(factory: Path) -> None:
    lines = (factory / "ssh/sshd_config.d/50-millrace.conf").read_text().splitlines()
    assert "AllowGroups root sudo" in lines and "AuthenticationMethods publickey" in lines


def test_code_is_asked_on_the_web_console_and_over_ssh_only(tree: Path, factory: Path) -> None:
    assert (tree / "usr/lib/x86_64-linux-gnu/security/pam_google_authenticator.so").exists()
    lines = (factory / "pam.d/common-auth").read_text().splitlines()
    asking = [number for number, line in enumerate(lines) if "pam_google_authenticator.so" in line]
    # each stands behind the line that jumps over it for all other services: the local console needs no code
    assert ["service = sshd" in lines[asking[0] - 1], "service = cockpit" in lines[asking[1] - 1]] == [True, True]
    assert len(asking) == 2 and "default=1" in lines[asking[0] - 1] and "default=2" in lines[asking[1] - 1]
    # a wrong code counts as a wrong password does; a right one, and a person without a file, jump over that line
    assert re.search(r"\[success=1 ignore=1 default=bad\]", lines[asking[1]])
    counting = re.sub(r"\s+", " ", lines[asking[1] + 1]).strip()
    assert counting == "auth required pam_faillock.so authfail dir=/run/faillock-web"
    # where there is no file of a person, ssh refuses and the web console asks for nothing
    assert ["nullok" in lines[number] for number in asking] == [False, True]
