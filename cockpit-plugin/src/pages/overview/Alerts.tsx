// SPDX-License-Identifier: Apache-2.0
/** The open alerts: a bell with the number of those that nobody has acknowledged, and the list that it opens. */
import type { JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import BellIcon from "@patternfly/react-icons/dist/esm/icons/bell-icon";
import type { AlertList, ListedAlert } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { asLevel, LevelIcon, levelWord } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded } from "../../components/States";
import { moment } from "../../lib/format";
import { useChange, useVerb, type Result } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { link } from "../../lib/route";

/** Seconds between two questions: health is checked as often. */
const EVERY_SECONDS = 30;

export function useAlerts(): Result<AlertList> {
    return useVerb("alert list", [], { every: EVERY_SECONDS });
}

function name(list: AlertList | undefined, count: number): string {
    if (list === undefined) return _("Alerts");
    return count === 0 ? _("No open alerts") : format(ngettext("$0 open alert", "$0 open alerts", count), count);
}

export function Bell({ list, open, onToggle }: { list: AlertList | undefined; open: boolean; onToggle: () => void }): JSX.Element {
    const count = list?.alerts.filter((one) => one.acknowledged === null).length ?? 0;
    return (
        <Button variant={count > 0 ? "primary" : "secondary"} icon={<BellIcon />} aria-label={name(list, count)} aria-expanded={open}
            data-testid="bell" onClick={onToggle}>{count > 0 ? count : undefined}</Button>
    );
}

export function OpenAlerts({ found }: { found: Result<AlertList> }): JSX.Element {
    const ack = useChange("alert ack");
    const acknowledge = async (key: string) => {
        await ack.go([key]);
        found.reload();
    };
    return (
        <Panel title={_("Open alerts")} testId="open-alerts">
            <Loaded of={found} what={_("Loading alerts")}>
                {(list) => (
                    <div className="mr-stack">
                        <ErrorAlert error={ack.error} />
                        {list.alerts.length === 0
                            ? <p>{_("No alert is open.")}</p>
                            : (
                                <ul className="mr-findings" aria-label={_("Open alerts")}>
                                    {list.alerts.map((one) => (
                                        <Alert key={one.key} alert={one} busy={ack.busy} onAcknowledge={() => void acknowledge(one.key)} />
                                    ))}
                                </ul>
                            )}
                        {list.waiting > 0 && (
                            <p>
                                {format(ngettext("$0 message has not been delivered yet.", "$0 messages have not been delivered yet.", list.waiting), list.waiting)}
                                {" "}<a href={link("settings")}>{_("Alert routes")}</a>
                            </p>
                        )}
                    </div>
                )}
            </Loaded>
        </Panel>
    );
}

function Alert({ alert, busy, onAcknowledge }: { alert: ListedAlert; busy: boolean; onAcknowledge: () => void }): JSX.Element {
    const level = asLevel(alert.level);
    return (
        <li data-key={alert.key} data-level={level}>
            <LevelIcon level={level} />
            <div>
                <span className="pf-v6-screen-reader">{levelWord(level)}: </span>
                {alert.sentence}
                {alert.todo && <div className="mr-todo"><strong>{_("What to do:")}</strong> {alert.todo}</div>}
                <div className="mr-actions">
                    <small className="mr-subtle">
                        {alert.acknowledged === null
                            ? format(_("Since $0"), moment(alert.since))
                            : format(_("Since $0, acknowledged by $1"), moment(alert.since), alert.acknowledged)}
                    </small>
                    {alert.acknowledged === null && (
                        <AdminButton least="operator" variant="link" size="sm" isDisabled={busy} aria-label={format(_("Acknowledge $0"), alert.key)}
                            onClick={onAcknowledge}>{_("Acknowledge")}</AdminButton>
                    )}
                </div>
            </div>
        </li>
    );
}
