# SPDX-License-Identifier: Apache-2.0
"""`millrace schema`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import table

if TYPE_CHECKING:
    from millrace.cli.schema.document import Schema


@click.command()
@prints("millrace.cli.schema.document:Schema", words="Print one JSON document: the schemas.")
def schema(show: Output) -> None:
    """Print the JSON Schema of each verb's --json output; without --json, list the verbs."""
    from millrace.cli.schema.document import schema as made

    show(made(), _rows)


def _rows(found: "Schema") -> Iterator[str]:
    from millrace.cli.schema.outputs import outputs

    rows = [
        (verb, where.partition(":")[2] + (", a line each" if verb in found.lines else ""))
        for verb, where in outputs().items()
    ]
    return table(("Verb", "Document"), rows)
