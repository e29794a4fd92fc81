# SPDX-License-Identifier: Apache-2.0
"""`millrace schema`."""

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: the schemas.")
def schema(as_json: bool) -> None:
    """Print the JSON Schema of each verb's --json output; without --json, list the verbs."""
    from millrace.schema.outputs import LINES, OUTPUTS

    if as_json:
        from millrace.schema.document import schema as made

        click.echo(made().model_dump_json(indent=2, by_alias=True))
        return
    width = max(map(len, OUTPUTS))
    for verb, where in OUTPUTS.items():
        click.echo(f"{verb:<{width}}  {where.partition(':')[2]}" + (", a line each" if verb in LINES else ""))
