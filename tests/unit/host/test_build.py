# SPDX-License-Identifier: Apache-2.0
"""An image is built again when what it is made of has changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from host import build, reference
from host.layout import REPO, Caches


@pytest.mark.parametrize(("with_program", "noticed"), [(True, True), (False, False)])
def test_generator_of_the_manual_belongs_to_the_image_with_the_program(
    tmp_path: Path, with_program: bool, noticed: bool
) -> None:
    assert (REPO / reference.SOURCE).samefile(reference.__file__)
    (tmp_path / reference.SOURCE).parent.mkdir(parents=True)
    (tmp_path / reference.SOURCE).write_text("one")
    target = replace(build.appliance(Caches(tmp_path)), root=tmp_path, inputs=[], with_program=with_program)
    before = build.up_to_date(target)[1]
    (tmp_path / reference.SOURCE).write_text("two")
    assert (build.up_to_date(target)[1] != before) is noticed
