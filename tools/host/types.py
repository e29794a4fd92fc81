# SPDX-License-Identifier: Apache-2.0
"""`tools/host/enter types`: the TypeScript types and rules of the web pages, from the schemas of the verbs, and
the documents that the pages are tested with, from the verbs themselves.
"""

import argparse
import json
import os
import subprocess
import sys

from host import rules, typescript
from host.entry import finish
from host.layout import REPO
from millrace.cli.schema.document import Schema, schema

FILE = REPO / "cockpit-plugin" / "src" / "types" / "millrace.ts"
RULES = FILE.with_name("rules.ts")
GOLDENS = "tests.unit.plugin.golden"
HEAD = """// SPDX-License-Identifier: Apache-2.0
// What the verbs print with --json. Made by `tools/host/enter types`; a test fails where it drifted.

"""


def text(of: Schema) -> str:
    """Return the whole file: one exported type for each definition, and what each verb prints."""
    parts = [typescript.declaration(name, dict(definition)) for name, definition in of.definitions.items()]
    outputs = "".join(
        f"    {json.dumps(verb)}: {typescript.type_of(dict(output))};\n" for verb, output in of.outputs.items()
    )
    parts.append(
        typescript.comment("By the words of the verb: the document that it prints, or each of its lines.")
        + f"export interface Outputs {{\n{outputs}}}\n"
    )
    lines = " | ".join(json.dumps(verb) for verb in of.lines)
    parts.append(
        typescript.comment("These verbs print lines, one JSON document each, until they are done.")
        + f"export type LineVerb = {lines};\n"
    )
    return HEAD + "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Write the types, the rules and the documents; print which of the two changed."""
    parser = argparse.ArgumentParser(
        prog="tools/host/enter types",
        description="Write the types and rules of the web pages, and what they are tested with.",
    )
    parser.parse_args(arguments)
    of = schema()
    for file, made in ((FILE, text(of)), (RULES, rules.text(of.inputs))):
        changed = not file.is_file() or file.read_text() != made
        if changed:
            file.write_text(made)
        print(f"{file.relative_to(REPO)} {'is written' if changed else 'is up to date'}")
    # In a process of its own: it is a test's program, and makes servers of files with patched clocks.
    environment = os.environ | {"PYTHONPATH": f"{REPO / 'tools'}:{REPO}"}
    return subprocess.run([sys.executable, "-m", GOLDENS], cwd=REPO, env=environment, check=False).returncode


if __name__ == "__main__":
    finish(main)
