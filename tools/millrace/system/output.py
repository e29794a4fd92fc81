# SPDX-License-Identifier: Apache-2.0
"""What verbs print: their document with --json, else text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import click

from millrace.system.printing import safe

if TYPE_CHECKING:
    from pydantic import BaseModel

Model = TypeVar("Model", bound="BaseModel")
Verb = TypeVar("Verb", bound=Callable[..., Any])

DOCUMENT = "Print one JSON document."


class JsonOption(click.Option):
    """`--json` of one verb, with the contract of what it prints: the JSON schemas are made from it.

    `contracts` maps "" and every option that prints something else ("--dry-run") to "module:model", which is imported
    when it is needed. `lines`: one document a line until the verb ends.
    """

    def __init__(self, names: Sequence[str], contracts: Mapping[str, str], lines: bool, help: str) -> None:
        super().__init__(names, is_flag=True, callback=lambda *given: Output(self, given[2]), help=help)
        self.contracts = contracts
        self.lines = lines


class Output:
    """Prints for one verb; the verb receives it as its parameter `show`."""

    def __init__(self, option: JsonOption, as_json: bool) -> None:
        self._option = option
        self._json = as_json

    def __call__(
        self,
        document: Model,
        text: Callable[[Model], Iterable[str]] | None = None,
        warnings: Iterable[str] = (),
    ) -> None:
        """Print `document`, or the lines of `text` and on stderr `warnings`, which the document has, too.

        `text` is called for text alone; without it, the document is always printed.
        TypeError for a document that the verb does not declare.
        """
        if not any(isinstance(document, contract(where)) for where in self._option.contracts.values()):
            raise TypeError(f"{type(document).__name__} is no contract of this verb: declare it with `prints`")
        if self._json or text is None:
            click.echo(document.model_dump_json(indent=None if self._option.lines else 2))
            return
        self.text(text(document))
        for warning in warnings:
            click.echo(safe(f"warning: {warning}"), err=True)

    @property
    def as_json(self) -> bool:
        """Whether documents are printed and not text."""
        return self._json

    def text(self, lines: Iterable[str]) -> None:
        """Print lines that are in no document, control characters as escapes; with --json, nothing."""
        if not self._json:
            for line in lines:
                click.echo(safe(line))

    def each(self, documents: Iterable[Model], text: Callable[[Iterable[Model]], Model | None]) -> Model | None:
        """Print documents as they come, or let `text` show them; return the last, None where there is none."""
        if not self._json:
            return text(documents)
        last = None
        for last in documents:
            self(last)
        return last


def prints(
    model: str, also: Mapping[str, str] | None = None, *, lines: bool = False, words: str = DOCUMENT
) -> Callable[[Verb], Verb]:
    """Give a verb `--json` and the parameter `show`, which prints the contract `model` ("module:model").

    `also` names contracts of options that print something else; `words` are the help of `--json`.
    """
    return click.option(
        "--json", "show", cls=JsonOption, contracts={"": model, **(also or {})}, lines=lines, help=words
    )


def contract(where: str) -> Any:
    """Import the model, or the union of models, that "module:model" names."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
