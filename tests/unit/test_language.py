# SPDX-License-Identifier: Apache-2.0
"""Sentences use the words of the field: texts of the pages, help texts, errors, findings, docstrings."""

import ast
import re
from collections.abc import Iterator

import click
import pytest

from host.layout import REPO
from millrace.cli.program import millrace
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from tests.unit.plan import servers_hw
from tests.unit.plan.shapes import CASES
from tests.unit.plan.test_sentences import sentences as said_by

# What the field does not say, and what it says instead.
WORDS = {
    r"\b(somebody|whoever)\b": "the user, an administrator, a client",
    r"\banew\b": "again",
    r"\bhand(ed)? in\b": "provide",
    r"(^|\b(is|are|be|was|were) )told\b": "is shown, requires root",
    r"\ba person\b": "an administrator",
    r"\btaken? back\b": "is rolled back",
    r"\bleft out, and why\b": "skipped, with reason",
    r"\b(look|looking|looked) (at|whether)\b": "verify, check, inspect",
    r"\bon the other side\b": "on a remote NUMA node",
    r"\bmisses (a|\d+)\b": "is degraded: 1 of 10 members missing",
    r"\b(not|is) whole\b": "incomplete, healthy, in sync",
    r"\bwhat is no\b": "an invalid reply",
    r"\bplace (is )?not known\b": "unknown location",
    r"\bbinds\b": "bottleneck",
    r"\bx\d\b|\d x \d": "×4, 2 × 9",
    r"\d%": "50 %",
    r"\b(cannot|can) do (more|\d)": "supports",
    r"\b(does|do) not tell\b": "does not report, is unknown",
    r"\bprocessors?\b": "CPU, socket, NUMA node",
    r"(^|[.:;] )Who\b": "a noun",
}
# A command's help says what the command does.
NO_VERB = re.compile(r"(The|A|An|What|How|Who|Those|Where|One|Two|It|Is|Which)\b")
SAID = {"BadInput", "Refused", "Failed", "HealthFinding", "PlanFinding", "Unreachable", "Note", "echo"}


def page_texts() -> Iterator[tuple[str, str]]:
    """Every English text of the pages, from the catalogue that `tools/test pages` holds complete."""
    where = ""
    for line in (REPO / "cockpit-plugin/po/de.po").read_text().split("\n\n"):
        found = re.search(r"#: (\S+)", line)
        where = found[1] if found else where
        for msgid in re.findall(r'^msgid(?:_plural)? ((?:".*"\n?)+)', line, re.M):
            yield where, "".join(ast.literal_eval(part) for part in msgid.strip().splitlines())


def translations() -> Iterator[tuple[str, str]]:
    """Every German text of the pages, after its English one."""
    for entry in (REPO / "cockpit-plugin/po/de.po").read_text().split("\n\n"):
        texts = {}
        for name, lines in re.findall(r'^(msgid|msgstr)(?:\[\d\]|_plural)? ((?:".*"\n?)+)', entry, re.M):
            texts[name] = "".join(ast.literal_eval(part) for part in lines.strip().splitlines())
        if texts.get("msgid"):
            yield texts["msgid"], texts["msgstr"]


def help_texts() -> Iterator[tuple[str, str]]:
    """The help of each command and option, as the command line shows it."""
    pending: list[tuple[str, click.Command]] = [("millrace", millrace)]
    while pending:
        name, command = pending.pop()
        yield name, command.help or ""
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield f"{name} {parameter.opts[0]}", parameter.help or ""
        if isinstance(command, click.Group):
            context = click.Context(command)
            for verb in command.list_commands(context):
                below = command.get_command(context, verb)
                assert below is not None
                pending.append((f"{name} {verb}", below))


def sentences() -> Iterator[tuple[str, str]]:
    """Errors and findings of the program, values in them as {}."""
    for path in sorted((REPO / "tools/millrace").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in SAID:
                for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    if text := _text(value):
                        yield f"{path.relative_to(REPO)}:{node.lineno}", text


def docstrings() -> Iterator[tuple[str, str]]:
    """Docstrings of all modules, classes and functions."""
    for path in sorted((REPO / "tools").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(REPO)}:{getattr(node, 'lineno', 1)}", text


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(one) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    return ""


def planned() -> Iterator[tuple[str, str]]:
    """Decisions, warnings, findings, predictions and refusals of all servers that the tests of planning know."""
    proposals = {name: propose(case.inventory, case.policy) for name, case in CASES.items()}
    proposals |= {name: propose(build(), Policy()) for name, build in servers_hw.ALL.items()}
    for name, proposal in proposals.items():
        yield from ((name, text) for text in said_by(proposal))


ENTRY = re.compile(r"\n\s*\n|\n(?=\s*[-*|#] ?|\d+\. )")
# Words that most English sentences have, and no German one.
ENGLISH = re.compile(r"\b(the|and|with|this|which|not|are|have|of|is)\b", re.I)
# Riddles of the manual: the subject is a noun, and a noun is repeated.
RIDDLES = {
    r"(^|[.:!?|] |^[-#*|]+ |^\d+\. )\W*What\b(?![^.|]*\?)": "a noun as the subject",
    r"\bone that\b": "the noun",
    r"\bof now\b": "existing, present",
    r"\bis one, too\b": "is also a …",
    r"\bsays? why\b": "shows the reason",
}


def manual() -> Iterator[tuple[str, str]]:
    """Every paragraph, entry of a list and row of a table of the manual and the pages beside it, without code."""
    pages = [*(REPO / "docs").glob("*.md"), *REPO.glob("*.md")]
    for page in sorted(pages):
        for entry in ENTRY.split(_without_code(page.read_text())):
            yield str(page.relative_to(REPO)), " ".join(entry.split())


def _without_code(text: str) -> str:
    fences = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
    return re.sub(r"^ {4}(?! *[-*\d]).*$", "", fences.sub("", text), flags=re.MULTILINE)


TEXTS = {"pages": page_texts, "help": help_texts, "errors": sentences, "plan": planned, "docstrings": docstrings}


@pytest.mark.parametrize("source", TEXTS)
def test_words_are_those_of_the_field(source: str) -> None:
    texts = list(TEXTS[source]())
    wrong = [
        f"{where}: {text!r}: better {better}"
        for where, text in texts
        for pattern, better in WORDS.items()
        if re.search(pattern, text, re.I if "Who" not in pattern else 0)
    ]
    assert len(texts) > 200 and not wrong, "\n".join(wrong)


def test_help_of_a_command_begins_with_a_verb() -> None:
    commands = [(name, text) for name, text in help_texts() if "-" not in name.split()[-1][:1]]
    wrong = [f"{name}: {text!r}" for name, text in commands if name != "millrace" and (not text or NO_VERB.match(text))]
    assert len(commands) > 50 and not wrong, "\n".join(wrong)


def test_german_pages_have_no_english_sentence() -> None:
    texts = list(translations())
    wrong = [german for _, german in texts if ENGLISH.search(german)]
    assert len(texts) > 1000 and len([1 for english, _ in texts if ENGLISH.search(english)]) > 300
    assert wrong == []


def riddles(text: str) -> list[str]:
    return [better for pattern, better in RIDDLES.items() if re.search(pattern, text)]


def test_manual_has_nouns_where_they_are_needed() -> None:
    texts = list(manual())
    wrong = [f"{page}: {text!r}: better {better}" for page, text in texts for better in riddles(text)]
    assert len(texts) > 1500 and not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "What is written is shown.",
        "- What could not be written is a warning",
        "| `key` | What it does |",
        "## What it does not do",
        "A drive is examined. What it has is shown.",
        "finishes one that was interrupted",
        "for mounts of now",
        "a reply that is late is one, too",
        "and says why",
    ],
)
def test_riddle_is_found(text: str) -> None:
    assert riddles(text)


@pytest.mark.parametrize(
    "text", ["It shows what will be written.", "What now? Replace it.", "if there is one, that drive"]
)
def test_plain_sentence_is_none(text: str) -> None:
    assert not riddles(text)


@pytest.mark.parametrize("text", ["made anew", "Who may mount", "link at 16 GT/s x4", "hand in both", "not looked at"])
def test_words_of_before_are_found(text: str) -> None:
    assert [pattern for pattern in WORDS if re.search(pattern, text, re.I if "Who" not in pattern else 0)]
