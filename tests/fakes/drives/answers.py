# SPDX-License-Identifier: Apache-2.0
"""How tools are asked and how they answer."""

from millrace.system.run import Result

NOTHING = Result(2, "", "")


def option(command: list[str], name: str) -> str:
    return next(word for word in command if word.startswith(f"--{name}=")).split("=", 1)[1]


def export(values: dict[str, str]) -> Result:
    return Result(0, "".join(f"{key}={value}\n" for key, value in values.items()), "")
