// SPDX-License-Identifier: Apache-2.0
import { Fragment, type JSX } from "react";
import type { Light } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { age, moment } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { LightLabel } from "./LightLabel";
import { placeWord } from "./words";

/** When the newest copy was made, and how long ago that is. */
export function copyAge({ last }: Light): string {
    return last === null ? _("none") : format(_("$0 ($1 old)"), moment(last), age(last));
}

function next(due: string): string {
    return Date.parse(due) <= Date.now() ? _("due now") : moment(due);
}

/** The copies of a share at one place: the state, the program's sentence, and what to do. */
export function LightPanel({ light }: { light: Light }): JSX.Element {
    const facts: [string, string][] = light.schedule === null && light.last === null ? [] : [
        [_("Newest copy"), copyAge(light)],
        [_("Schedule"), light.schedule ?? _("no schedule")],
        ...(light.next === null ? [] : [[_("Next copy"), next(light.next)] as [string, string]]),
        ...(light.place === "here" ? [] : [[_("Last restore drill"), light.drill === null ? _("never") : moment(light.drill)] as [string, string]]),
    ];
    return (
        <Panel title={placeWord(light.place)} testId={`light-${light.place}`}>
            <div className="mr-stack">
                <div><LightLabel light={light} /></div>
                <p>{light.sentence}</p>
                {light.todo !== null && <p className="mr-subtle mr-small">{light.todo}</p>}
                {facts.length > 0 && (
                    <dl className="mr-definitions">{facts.map(([name, value]) => <Fragment key={name}><dt>{name}</dt><dd>{value}</dd></Fragment>)}</dl>
                )}
            </div>
        </Panel>
    );
}
