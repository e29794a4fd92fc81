# SPDX-License-Identifier: Apache-2.0
"""The least role of each verb, and the one place that refuses a verb to a caller, or writes down that it ran.

A verb that no table names is for administrators: a new verb is closed until it is named here. What a viewer or an
operator may run as root takes no path and no document: root would read or write it for them.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from millrace.system.errors import MillraceError, Refused
from millrace.system.roles import Role

if TYPE_CHECKING:
    from millrace.system.roles import Caller

VIEWER = frozenset(
    {
        "access list",
        "access log",
        "access second-factor confirm",
        "access second-factor enroll",
        "access second-factor remove",
        "access sessions",
        "access who",
        "alert list",
        "alert route list",
        "answer",
        "backend list",
        "bench clients list",
        "bench compare",
        "bench estimate",
        "bench follow",
        "bench list",
        "bench show",
        "certificate show",
        "certificate trust list",
        "client check-script",
        "client expect",
        "client kubernetes",
        "client recipe",
        "client zone",
        "config diff",
        "config history",
        "config show",
        "domain show",
        "drive list",
        "drive progress",
        "drive show",
        "encryption show",
        "group list",
        "health",
        "history",
        "install list",
        "inventory",
        "job follow",
        "job list",
        "job show",
        "keep list",
        "keep status",
        "metrics",
        "metrics status",
        "network show",
        "plan",
        "policy diff",
        "policy show",
        "pool found",
        "pool record",
        "pool scrub status",
        "pool show",
        "pool trim status",
        "pool unclean",
        "protection show",
        "reset show",
        "schema",
        "session list",
        "share clone-status",
        "share list",
        "share networks list",
        "share show",
        "snapshot list",
        "snapshot schedules",
        "status",
        "topology",
        "tune",
        "tuner estimate",
        "tuner follow",
        "tuner list",
        "tuner show",
        "tuner status",
        "update status",
        "user list",
        "volume list",
        "volume show",
        "watch",
    }
)

OPERATOR = frozenset(
    {
        "alert ack",
        "drive add",
        "drive erase",
        "drive locate",
        "drive remove",
        "drive replace",
        "drive resume",
        "drive test",
        "job cancel",
        "keep now",
        "network path-mtu",
        "pool acknowledge",
        "pool priority",
        "pool scrub files",
        "pool scrub filesystem",
        "pool scrub start",
        "pool scrub stop",
        "pool trim start",
        "pool trim stop",
        "pool verify",
        "share verify",
        "snapshot browse",
        "snapshot compare",
        "snapshot create",
        "snapshot get",
        "snapshot keep",
        "update apply",
        "update check",
        "update reboot",
        "update rollback",
    }
)

# Parameters of verbs above that only an administrator may give: what they name is read or written by root, is older
# than what the server trusts, or is shown to others.
RESERVED = {
    "answer": ("--socket", "--every", "--unit", "words"),
    "drive erase": ("--foreign",),
    "health": ("--write", "--smart", "--stopped"),
    "history": ("--store",),
    "inventory": ("--capture", "--write", "--keep-serials"),
    "plan": ("--inventory", "--write", "--again"),
    "pool unclean": ("--find",),
    # a snapshot in another share is for other clients, and a new share is for administrators
    "snapshot create": ("--large",),
    "snapshot get": ("target",),
    "tune": ("--revert",),
    "update apply": ("release", "--older", "--uploaded", "--degraded"),
    "update check": ("release",),
    "update reboot": ("--lose-locks",),
}


# Verbs above that change something unless one of these is given: without it they are for administrators.
READING = {"tune": ("--diff", "--settings")}


def least_role(verb: str) -> Role:
    """Return the least role of a verb, by its words."""
    return "viewer" if verb in VIEWER else "operator" if verb in OPERATOR else "administrator"


class VerbContext(click.Context):
    """The context of a verb: refuses the verb before its options are read, and reserved options before it runs."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Refused: the role of the caller does not allow this verb."""
        super().__init__(*arguments, **named)
        self.words = _words(self)
        # A group shows its help, unless it is a verb by itself.
        if not isinstance(self.command, click.Group) or self.command.invoke_without_command:
            _refuse(self.words, least_role(self.words))

    def invoke(self, callback: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run the verb. Refused: a reserved option is given, and the caller is no administrator."""
        given = self._given(RESERVED)
        changes = self.words in READING and not self._given(READING)
        if given or changes:
            _refuse(" ".join([self.words, *given[:1]]), "administrator")
            return self._logged(callback, args, kwargs)
        if isinstance(self.command, click.Group) or least_role(self.words) == "viewer":
            return super().invoke(callback, *args, **kwargs)
        return self._logged(callback, args, kwargs)

    def _given(self, table: Mapping[str, Sequence[str]]) -> list[str]:
        """The options that a table has for this verb, as far as they were typed."""
        return [
            param.opts[0]
            for param in self.command.params
            if param.opts[0] in table.get(self.words, ())
            and self.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
            and self.params.get(param.name or "")
        ]

    def _logged(self, callback: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a verb that changes something, and write down who did."""
        from millrace.system.roles import caller, is_person, is_root

        if not is_root() or not is_person():
            return super().invoke(callback, *args, **kwargs)
        from millrace.lifecycle.access import change_log

        who, status = caller(), MillraceError.exit_code
        number = change_log.begin(who, self.find_root().obj or self.words.split())
        try:
            returned = super().invoke(callback, *args, **kwargs)
            status = returned if isinstance(returned, int) else 0
            return returned
        except MillraceError as error:
            status = error.exit_code
            raise
        except click.exceptions.Exit as error:
            status = error.exit_code
            raise
        finally:
            change_log.end(who, number, status)


def guard(command: click.Command) -> None:
    """Have a command and all commands below it refuse what the role of the caller does not allow."""
    command.context_class = VerbContext
    if isinstance(command, click.Group):
        for below in command.commands.values():
            guard(below)


def _refuse(verb: str, least: Role) -> None:
    from millrace.system.roles import caller, is_root

    # Without root's rights the kernel refuses more than a table could.
    if not is_root():
        return
    who = caller()
    if who.role != "administrator":
        without_inherited()
    if not who.may(least):
        raise Refused(f"{_described(who)}, and 'millrace {verb}' is for {_article(least)}: ask an administrator")


OPEN_FILES = 4096


def without_inherited() -> None:
    """Undo what the caller gave to this process, which sudo hands on.

    Limits would end a write halfway, or hide files that cannot be opened. Where SIGCHLD is ignored, the exit status of
    each tool is lost, and Python takes it for 0.
    """
    import resource
    import signal

    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA):
        resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # the one variable in env_keep of sudo that names a file
    os.environ.pop("KRB5CCNAME", None)


def _described(who: "Caller") -> str:
    return f"{who.name} has no role on this server" if who.role is None else f"{who.name} is {_article(who.role)}"


def _article(role: Role) -> str:
    return f"a{'n' if role != 'viewer' else ''} {role}"


def _words(context: click.Context) -> str:
    words: list[str] = []
    at: click.Context | None = context
    while at is not None and at.parent is not None:
        words.insert(0, at.info_name or "")
        at = at.parent
    return " ".join(words)
