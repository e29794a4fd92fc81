# SPDX-License-Identifier: Apache-2.0
"""Rendering of files under /etc: one template per file, at the same path under templates/ as its target."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).with_name("templates")


def render(template_path: str, **values: object) -> str:
    """Render `templates/<template_path>`; a value that the template names and the call lacks is an error."""
    return _environment().get_template(template_path).render(**values)


@cache
def _environment() -> "jinja2.Environment":
    # As slow to import as pydantic, and most verbs that could render something do not.
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # of a page, the words of clients are text
        autoescape=jinja2.select_autoescape(["html.j2"], default=False),
    )
