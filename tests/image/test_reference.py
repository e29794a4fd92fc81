# SPDX-License-Identifier: Apache-2.0
"""The manual page and the completion are in the image, and its own programs read them."""

import re
from pathlib import Path

from tests.image.test_image import chroot


def test_man_shows_the_page_of_the_program(tree: Path) -> None:
    shown = chroot(tree, "/usr/bin/man", "8", "millrace")
    # bold is each letter twice with a backspace between (grotty(1))
    page = re.sub(".\b", "", shown.stdout)
    assert shown.returncode == 0 and shown.stderr == ""
    assert "millrace share create [OPTIONS] NAME" in page and "EXIT STATUS" in page


def test_bash_completes_the_program(tree: Path, factory: Path) -> None:
    assert (factory / "profile.d/bash_completion.sh").is_file()
    script = ". /usr/share/bash-completion/completions/millrace; complete -p millrace"
    shown = chroot(tree, "/usr/bin/bash", "-c", script)
    assert shown.stdout.strip().endswith("-F _millrace_completion millrace"), shown.stderr
