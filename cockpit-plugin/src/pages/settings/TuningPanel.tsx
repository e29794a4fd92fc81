// SPDX-License-Identifier: Apache-2.0
/** What of the runtime settings is otherwise than at the last boot, and which of them the kernel does not have, with the reasons. */
import { Fragment, type JSX } from "react";
import type { SettingChange, TuneReport } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { moment } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

export function TuningPanel(): JSX.Element {
    const found = useVerb("tune", ["--diff"], { admin: "allowed" });
    return (
        <Panel title={_("Tuning")} testId="tuning">
            <Loaded of={found} what={_("Comparing the settings")}>{(report) => <Differences report={report} />}</Loaded>
        </Panel>
    );
}

/** What made a setting another one, in a word. */
function cause(one: SettingChange["causes"][number]): string {
    switch (one) {
    case "hardware": return _("hardware");
    case "policy": return _("policy");
    case "pool": return _("pool");
    case "release": return _("version");
    case "unknown": return _("unknown cause");
    }
}

function Differences({ report }: { report: TuneReport }): JSX.Element {
    const { changes, drift, warnings } = report;
    return (
        <div className="mr-stack">
            {changes.length === 0 && drift.length === 0 && <p>{_("All settings are as they were at the last boot, and in force.")}</p>}
            {changes.length > 0 && (
                <section aria-label={_("Changed since the last boot")}>
                    <h3>{_("Changed since the last boot")}</h3>
                    <dl className="mr-definitions">
                        {changes.map((one) => (
                            <Fragment key={one.name}>
                                <dt>{one.name}</dt>
                                <dd>
                                    {`${one.before_text} → ${one.after_text} (${one.causes.map(cause).join(", ")})`}
                                    <div>{one.reason}</div>
                                    <div>{one.at === null ? _("Not in force yet.") : format(_("In force since $0."), moment(one.at))}</div>
                                </dd>
                            </Fragment>
                        ))}
                    </dl>
                </section>
            )}
            {drift.length > 0 && (
                <section aria-label={_("Not in force")}>
                    <h3>{_("Not in force")}</h3>
                    <dl className="mr-definitions">
                        {drift.map((one) => (
                            <Fragment key={one.path}>
                                <dt>{one.path}</dt>
                                <dd>{`${one.before} → ${one.wanted}`}<div>{one.reason}</div></dd>
                            </Fragment>
                        ))}
                    </dl>
                    <p>{_("The next boot applies them; so does `millrace tune` in the terminal.")}</p>
                </section>
            )}
            {warnings.map((one) => <p key={one}>{one}</p>)}
        </div>
    );
}
