# SPDX-License-Identifier: Apache-2.0
"""A key that was removed signs in nowhere: sshd reads no file that its owner can write, but that of root."""

from host.layout import REPO

CONFIGURATION = REPO / "mkosi.extra/etc/ssh/sshd_config.d/50-millrace.conf"


def blocks() -> dict[str, dict[str, str]]:
    """The settings of each block by its `Match` line; those of everybody have none."""
    settings: dict[str, dict[str, str]] = {"": {}}
    block = ""
    for line in CONFIGURATION.read_text().splitlines():
        keyword, _, value = line.strip().partition(" ")
        if keyword == "Match":
            block = value
            settings[block] = {}
        elif keyword and not keyword.startswith("#"):
            settings[block][keyword] = value
    return settings


def test_only_root_has_keys_in_its_home_directory() -> None:
    files = {block: settings.get("AuthorizedKeysFile") for block, settings in blocks().items()}
    assert files == {
        "": "/var/lib/millrace/access/ssh-keys/%u",
        "User root": ".ssh/authorized_keys",
        "Group millrace-second-factor": None,
    }


def test_password_alone_signs_in_nobody() -> None:
    settings = blocks()
    assert settings[""]["AuthenticationMethods"] == "publickey" and settings[""]["PasswordAuthentication"] == "no"
    assert settings["Group millrace-second-factor"]["AuthenticationMethods"].startswith("publickey,")
