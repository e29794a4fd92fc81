// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { Effect, Outputs, Standing, TunerRun } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { moment, percent, UNKNOWN } from "../../lib/format";
import type { Result } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { ConfirmButton } from "./ConfirmButton";
import { Exports } from "./Exports";
import { StateLabel } from "./StateLabel";
import { changes, effectWord, goalFigure, goalWord, knobWord, levelWord, sideWord, withNoise } from "./tune-words";

const WIDTH = 160;
const HEIGHT = 14;

/** A gain from the middle, right where the plan is better; the pale part may be chance. */
function EffectBar({ one: { effect, noise, matters }, most }: { one: Effect; most: number }): JSX.Element {
    const part = (value: number) => (value / most) * (WIDTH / 2);
    const middle = WIDTH / 2;
    return (
        <svg className="mr-effect" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
            <rect className="mr-noise" x={middle - part(noise)} width={2 * part(noise)} height={HEIGHT} />
            <rect className={`mr-fill mr-tone-${matters ? 0 : 5}`} x={middle + Math.min(0, part(effect))} y="3" width={Math.max(1, Math.abs(part(effect)))} height={HEIGHT - 6} />
            <line className="mr-whisker" x1={middle} x2={middle} y2={HEIGHT} />
        </svg>
    );
}

function Effects({ run }: { run: TunerRun }): JSX.Element {
    const most = Math.max(...run.effects.flatMap(({ effect, noise }) => [Math.abs(effect), noise])) || 1;
    const title = (name: string) => knobWord(name, run.knobs.find((one) => one.name === name)?.title);
    return (
        <DataTable label={_("Settings with an effect")} testId="tune-effects" rows={run.effects} rowKey={({ knob }) => knob} columns={[
            { title: _("Setting"), heads: true, cell: ({ knob }) => title(knob) },
            { title: _("Plan"), figures: true, cell: ({ knob, planned }) => levelWord(knob, planned) },
            { title: _("Compared with"), figures: true, cell: ({ knob, other }) => levelWord(knob, other) },
            { title: _("Gain of the plan's value"), sort: ({ effect }) => effect, cell: (one) => <div><EffectBar one={one} most={most} /> {withNoise(one.effect, one.noise)}</div> },
            {
                title: _("Result"),
                cell: (one) => (
                    <>
                        {effectWord(one, run.state === "running")}
                        {one.confirmed !== null && (
                            <div className="mr-small mr-subtle">{format(_("measured again: $0"), withNoise(one.confirmed, one.confirmed_noise ?? 0))}</div>
                        )}
                    </>
                ),
            },
        ]} />
    );
}

/** Winner beside plan and kernel defaults: the score, each goal, and the settings that differ. */
function Standings({ run, standings, emulated }: { run: TunerRun; standings: Standing[]; emulated: boolean }): JSX.Element {
    const rows = [
        { title: _("Relative to the plan"), of: ({ score }: Standing) => percent(score, 1) },
        ...(emulated ? [] : run.goals.map((goal) => ({ title: goalWord(goal), of: ({ figures }: Standing) => goalFigure(goal, figures[goal.name]) }))),
        ...run.knobs.filter(({ name, planned }) => standings.some(({ combination }) => combination[name] !== planned))
            .map(({ name, title }) => ({ title: knobWord(name, title), of: ({ combination }: Standing) => levelWord(name, combination[name] ?? UNKNOWN) })),
    ];
    return (
        <DataTable label={_("Compared sets")} testId="tune-standings" rows={rows} rowKey={({ title }) => title} columns={[
            { title: _("Figure or setting"), heads: true, cell: ({ title }) => title },
            ...standings.map((one) => ({ title: sideWord(one.side), figures: true, cell: ({ of }: (typeof rows)[number]) => of(one) })),
        ]} />
    );
}

function Shown({ run, applied, busy, onApplied }: { run: TunerRun; applied: boolean; busy: boolean; onApplied: () => void }): JSX.Element {
    const { outcome } = run;
    const emulated = run.environment !== null && run.environment.virtual !== null;
    const better = outcome?.verdict === "candidate";
    return (
        <div className="mr-stack">
            <div className="mr-actions">
                <StateLabel state={run.state} />
                <span className="mr-subtle">{moment(run.started)} · {format(ngettext("$0 reading", "$0 readings", run.readings.length), run.readings.length)}</span>
            </div>
            {(outcome?.reason ?? run.reason) !== null && (
                <Alert isInline variant={better ? "success" : outcome === null ? "warning" : "info"} title={outcome?.reason ?? run.reason} data-testid="tune-outcome">
                    {better && (
                        <div className="mr-stack">
                            <ul>{changes(outcome.winner, outcome.plan).map((line) => <li key={line}>{line}</li>)}</ul>
                            <div className="mr-actions">
                                {applied ? _("These settings are applied.") : (
                                    <ConfirmButton verb="tuner apply" args={[run.id]} label={_("Apply…")} title={_("Apply these settings?")} action={_("Apply")}
                                        isDisabled={busy} onDone={onApplied}>
                                        <p>{_("They are set now and at every boot, in place of those of the plan and of the policy, until they are reverted.")}</p>
                                        <ul>{changes(outcome.winner, outcome.plan).map((line) => <li key={line}>{line}</li>)}</ul>
                                    </ConfirmButton>
                                )}
                            </div>
                        </div>
                    )}
                </Alert>
            )}
            {emulated && <Alert variant="info" isInline data-testid="emulated" title={_("Emulated server: only ratios are meaningful, so no bandwidth is shown.")} />}
            {run.effects.length > 0 && <Effects run={run} />}
            {outcome !== null && outcome.standings.length > 0 && <Standings run={run} standings={outcome.standings} emulated={emulated} />}
            {run.refused.length > 0 && (
                <details className="mr-details" data-testid="tune-refused">
                    <summary>{_("Skipped, with reason")}</summary>
                    <ul>{run.refused.map(({ name, reason }) => <li key={name}>{format(_("$0: $1"), knobWord(name), reason)}</li>)}</ul>
                </details>
            )}
            <Exports of="tuner" run={run.id} />
        </div>
    );
}

/** One run: what mattered, the winner beside plan and kernel defaults, and what is done with it. */
export function TuneResult({ id, of, ...rest }: { id: string; of: Result<Outputs["tuner show"]>; applied: boolean; busy: boolean; onApplied: () => void }): JSX.Element {
    return (
        <Panel title={format(_("Result of run $0"), id)} wide testId="tune-result">
            <Loaded of={of} what={_("Loading run")}>{(run) => <Shown run={run} {...rest} />}</Loaded>
        </Panel>
    );
}
