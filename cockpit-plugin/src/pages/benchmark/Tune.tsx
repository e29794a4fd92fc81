// SPDX-License-Identifier: Apache-2.0
/** The tab Tune: the run belongs to the server, and the page finds it again in the status. */
import { useEffect, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Label } from "@patternfly/react-core/dist/esm/components/Label/index.js";
import type { TunerProgress, TunerRun } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { DataTable } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { Empty, ErrorAlert, Loaded } from "../../components/States";
import { change, moment, number, UNKNOWN } from "../../lib/format";
import { useVerb, type Result } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useJob, whileJob } from "../../lib/jobs";
import { link } from "../../lib/route";
import { ConfirmButton } from "./ConfirmButton";
import { NewRun } from "./StartPanel";
import { LastRun } from "./LastRun";
import { StateLabel } from "./StateLabel";
import { TuneResult } from "./TuneResult";
import { TuneStart } from "./TuneStart";
import { applied as appliedWords, goalWord, knobWord, levelWord, phaseWord, profileTitle } from "./tune-words";

/** Seconds. */
const EVERY = 3;

/** The reading that is measured: its test, what is set, how far the run is. */
function Live({ now, knobs, onStopped }: { now: TunerProgress; knobs: TunerRun["knobs"]; onStopped: () => void }): JSX.Element {
    const planned = (name: string) => knobs.find((one) => one.name === name)?.planned;
    const { best, combination, goal, phase, progress, readings, run, seconds_left, what } = now;
    return (
        <Panel title={format(_("Run $0"), run)} wide testId="tune-live" actions={(
            <ConfirmButton verb="job cancel" args={["tuner"]} label={_("Stop")} title={_("Stop this run?")} action={_("Stop the run")} danger onDone={onStopped}>
                <p>{_("The settings of the plan come back. Readings so far are kept and labelled as stopped; test files are removed.")}</p>
            </ConfirmButton>
        )}>
            <div className="mr-stack">
                <ProgressEta title={goal === null ? what : goalWord(goal)} progress={progress} secondsLeft={seconds_left} detail={[
                    phase === null ? "" : format(_("reading $0, $1"), number(readings + 1), phaseWord(phase)),
                    best === null ? "" : format(_("best so far $0"), change(best - 1)),
                ].filter(Boolean).join(" · ")} />
                {combination !== null && (
                    <DataTable label={_("Settings being measured")} testId="tune-now" rows={Object.entries(combination)} rowKey={([name]) => name} columns={[
                        { title: _("Setting"), heads: true, cell: ([name]) => knobWord(name) },
                        { title: _("Set now"), figures: true, cell: ([name, level]) => (level === planned(name) ? levelWord(name, level) : <strong>{levelWord(name, level)}</strong>) },
                        { title: _("Plan"), figures: true, cell: ([name]) => levelWord(name, planned(name) ?? UNKNOWN) },
                    ]} />
                )}
                <p className="mr-subtle">{_("The run continues when this page is closed.")}</p>
            </div>
        </Panel>
    );
}

function History({ of }: { of: Result<Outputs["tuner list"]> }): JSX.Element {
    return (
        <Panel title={_("History")} wide testId="tune-history">
            <Loaded of={of} what={_("Loading history")}>
                {({ runs, broken }) => (
                    <div className="mr-stack">
                        {broken.map((name) => <Alert key={name} variant="warning" isInline isPlain title={format(_("Cannot read run $0."), name)} />)}
                        {runs.length === 0
                            ? <Empty title={_("No runs yet")}>{_("A run measures which settings suit this server and shows what mattered.")}</Empty>
                            : (
                                <DataTable label={_("History")} rows={runs} rowKey={({ id }) => id} columns={[
                                    { title: _("Run"), heads: true, sort: ({ id }) => id, cell: ({ id }) => <a href={link("benchmark", "tune", id)}>{id}</a> },
                                    { title: _("Started"), sort: ({ started }) => started, cell: ({ started }) => moment(started) },
                                    { title: _("Tune for"), cell: ({ profile }) => profileTitle((profile ?? "own") as Parameters<typeof profileTitle>[0]) },
                                    { title: _("Readings"), figures: true, cell: ({ readings }) => number(readings) },
                                    { title: _("Gain"), figures: true, sort: ({ gain }) => gain ?? 0, cell: ({ gain }) => change(gain) },
                                    {
                                        title: _("State"),
                                        cell: ({ state, reason, applied }) => (
                                            <>
                                                <StateLabel state={state} />{" "}
                                                {applied && <Label color="blue" isCompact variant="outline">{_("applied")}</Label>}
                                                {reason !== null && <div className="mr-small">{reason}</div>}
                                            </>
                                        ),
                                    },
                                ]} />
                            )}
                    </div>
                )}
            </Loaded>
        </Panel>
    );
}

/** `id` is the run that is shown; none: the newest. */
export function Tune({ id }: { id: string | undefined }): JSX.Element {
    const job = useJob("tuner");
    const status = useVerb("tuner status", [], whileJob(job, EVERY));
    const history = useVerb("tuner list");
    const clients = useVerb("bench clients list");
    const running = status.data?.running === true;
    const now = running ? status.data?.progress : null;
    const { applied, left = [] } = status.data ?? {};
    const chosen = id ?? history.data?.runs[0]?.id;
    const run = useVerb("tuner show", [chosen ?? "latest"], { when: chosen !== undefined });
    const again = () => { job.look(); status.reload(); history.reload(); run.reload(); };
    const { progress } = status.data ?? {};
    // Each reading is more of the run; what began, ended or was applied is another line of the history.
    useEffect(() => { if (progress) { history.reload(); run.reload(); } }, [running, progress?.run, progress?.phase, progress?.readings, progress?.state, applied?.run]); // eslint-disable-line react-hooks/exhaustive-deps
    return (
        <>
            <ErrorAlert error={status.error} retry={status.reload} />
            {progress && !running && history.data?.runs.every((one) => one.id !== progress.run) && <LastRun last={progress} />}
            {left.length > 0 && (
                <Alert isInline variant="warning" title={_("Settings of a run could not be restored.")} data-testid="tune-left" actionLinks={(
                    <ConfirmButton verb="tuner stop" label={_("Restore…")} title={_("Restore these settings?")} action={_("Restore")} onDone={again}>
                        <p>{_("The settings of the plan are set again.")}</p>
                    </ConfirmButton>
                )}><ul>{left.map((one) => <li key={one}><code>{one}</code></li>)}</ul></Alert>
            )}
            {applied && (
                <Alert isInline variant="info" title={format(_("Settings of run $0 are applied."), applied.run)} data-testid="tune-applied" actionLinks={(
                    <ConfirmButton verb="tuner revert" label={_("Revert…")} title={_("Revert these settings?")} action={_("Revert")} isDisabled={running} onDone={again}>
                        <p>{_("The settings of the plan and of the policy are set now and at every boot. The run stays in the history.")}</p>
                    </ConfirmButton>
                )}><ul>{appliedWords(applied.values).map((line) => <li key={line}>{line}</li>)}</ul></Alert>
            )}
            <div className="mr-pair">
                {now && <Live now={now} knobs={run.data?.id === now.run ? run.data.knobs : []} onStopped={again} />}
                {chosen !== undefined && <TuneResult id={chosen} of={run} applied={applied?.run === chosen} busy={running} onApplied={again} />}
                <NewRun testId="tune-start"><TuneStart clients={clients.data?.clients ?? []} busy={running} onStarted={again} /></NewRun>
                <History of={history} />
            </div>
        </>
    );
}
