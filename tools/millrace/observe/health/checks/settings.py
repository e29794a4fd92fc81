# SPDX-License-Identifier: Apache-2.0
"""Which runtime settings changed at this boot, and do they match the current hardware and policy?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.settings import SettingsFile
from millrace.plan.settings_changes import sentence
from millrace.system import paths
from millrace.system.documents import read_model

NAME = "settings"
CHANGED = "changed"
SHOWN = 3
"""How many changes a sentence has; `millrace tune --diff` lists all."""


def check(host: Host) -> list[HealthFinding]:
    """Return what changed, and a finding for settings that are not computed or an override that is ignored."""
    if host.pool is None:
        return []
    if not paths.settings_file().exists():
        when = "yet" if host.starting else "in this boot"
        return [
            HealthFinding(
                check=NAME,
                kind="missing",
                level=Level.WARN,
                sentence=f"The runtime settings were not computed {when}.",
                todo="systemctl status millrace-tune",
            )
        ]
    document = read_model(paths.settings_file(), SettingsFile)
    findings = []
    if document.problem:
        todo = "Correct what it names, then: millrace tune"
        words = f"{document.problem[0].upper()}{document.problem[1:]}."
        findings.append(HealthFinding(check=NAME, kind="computed", level=Level.WARN, sentence=words, todo=todo))
    if document.settings.unused:
        todo = "Measure this server: millrace tuner run; or remove what was measured: millrace tuner revert"
        why = document.settings.unused
        findings.append(HealthFinding(check=NAME, kind="measured", level=Level.WARN, sentence=why, todo=todo))
    for number, warning in enumerate(document.settings.warnings):
        todo = "Edit /etc/millrace/policy.toml, then: millrace share render; millrace tune"
        findings.append(
            HealthFinding(check=NAME, kind=f"ignored{number}", level=Level.WARN, sentence=warning, todo=todo)
        )
    return [*findings, _changed(document)]


def _changed(document: SettingsFile) -> HealthFinding:
    changes = document.changes
    if not changes:
        return HealthFinding(
            check=NAME, level=Level.OK, sentence="This boot computed the runtime settings of the boot before."
        )
    listed = "; ".join(sentence(change) for change in changes[:SHOWN])
    more = f"; and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
    return HealthFinding(
        check=NAME,
        kind=CHANGED,
        level=Level.OK,
        sentence=f"Settings changed at this boot: {len(changes)}. {listed}{more}.",
    )
