# SPDX-License-Identifier: Apache-2.0
"""Rendering of files under /etc: one template per file, at the same path under templates/ as its target."""

from pathlib import Path

import jinja2

TEMPLATES = Path(__file__).parent / "templates"


def render(template_path: str, **values: object) -> str:
    """Render `templates/<template_path>`; a value that the template names and nobody gave is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    return environment.get_template(template_path).render(**values)
