// SPDX-License-Identifier: Apache-2.0
/** Both drives of the log are gone: the page leads through the rescue. The server has it in a journal: a reload loses nothing. */
import { useEffect, useState, type JSX } from "react";
import { Alert, AlertActionCloseButton } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { DriveRow, Health, RescueState, RescueWork, ShownStep } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { HealthLabel, Verdict } from "../../components/Health";
import { ProgressEta } from "../../components/ProgressEta";
import { ErrorAlert, Loading } from "../../components/States";
import { moment } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { useJob, whileJob } from "../../lib/jobs";
import { useAdmin } from "../../lib/permission";
import { RescueDialog } from "./RescueDialog";
import { afterwards, happened, losses, stepExplanation, stepTitle, type StepName } from "./rescue-words";

/** The remedy that health names where nothing else is left. */
const COMMAND = "millrace pool rescue";
/** Seconds: a step must be seen to move. */
const EVERY = 3;
/** Seconds: superblocks are read, and drives are examined. */
const EXAMINED_EVERY = 30;
const EXAMINING_SECONDS = 300;

export function RescuePanel({ health, drives }: { health: Health; drives: DriveRow[] }): JSX.Element | null {
    const admin = useAdmin();
    const [asked, ask] = useState<StepName>();
    const [read, setRead] = useState<string>();
    const needed = health.findings.some(({ level, todo }) => level === "FAIL" && todo?.includes(COMMAND));
    const job = useJob("rescue");
    const status = useVerb("pool rescue --status", [], { admin: true, when: admin === true, ...(needed && whileJob(job, EVERY)) });
    const work = status.data?.work ?? null;
    const running = work?.state === "running";
    const known = status.data?.rescue ?? null;
    const over = known !== null && known.next === null && work?.step === "serve" && work.state === "done";
    const found = useVerb("pool rescue", [], {
        admin: true, timeout: EXAMINING_SECONDS, every: EXAMINED_EVERY, when: admin === true && needed && status.data !== undefined && !running && !over,
    });
    const { reload } = found;
    const place = `${known?.next ?? ""} ${work?.id ?? ""} ${work?.state ?? ""}`;
    useEffect(() => { if (!running && !over) reload(); }, [place, running, over, reload]);

    if (over) return read === known.journal?.id ? null : <Rescued state={known} onClose={() => setRead(known.journal?.id)} />;
    if (!needed) return null;
    const state = running ? known ?? found.data : found.error === undefined ? found.data : undefined;
    return (
        <Verdict id="rescue" level="FAIL" title={_("The log of the pool is lost: both of its drives are gone")}>
            <div className="mr-stack">
                {admin === false && <p>{_("The pool can be rescued. Limited access: the steps require administrative access.")}</p>}
                <ErrorAlert error={found.error ?? status.error} />
                {admin === true && state === undefined && found.error === undefined && status.error === undefined && <Loading what={_("Examining the drives")} />}
                {state !== undefined && <Steps state={state} work={work} onAsk={ask} />}
                {state !== undefined && asked !== undefined && asked === state.next && !running && (
                    <RescueDialog name={asked} state={state} blank={drives.filter(({ verdict }) => verdict === "blank")}
                        onDone={() => { ask(undefined); job.look(); status.reload(); }} onClose={() => ask(undefined)} />
                )}
            </div>
        </Verdict>
    );
}

function Steps({ state, work, onAsk }: { state: RescueState; work: RescueWork | null; onAsk: (name: StepName) => void }): JSX.Element {
    const running = work?.state === "running";
    const stopped = work !== null && (work.state === "failed" || work.state === "interrupted") && work.step === state.next;
    return (
        <>
            <p>{happened(state)}</p>
            <h3>{_("What may be lost")}</h3>
            <ul className="mr-notes" aria-label={_("What may be lost")}>{losses().map((one) => <li key={one}>{one}</li>)}</ul>
            {state.notes.map((one) => <p key={one} className="mr-subtle">{one}</p>)}
            <h3>{_("Steps")}</h3>
            <ol className="mr-stack" aria-label={_("Steps of the rescue")}>
                {state.steps.map((one) => (
                    <li key={one.name} data-step={one.name} data-state={one.state} aria-current={one.name === state.next ? "step" : undefined}>
                        <strong>{stepTitle(one.name)}</strong> <StepLabel step={one} running={running && work.step === one.name} />
                        {one.result !== null && <div className="mr-subtle">{one.result}</div>}
                        {one.name === state.next && (
                            <div className="mr-stack">
                                <p>{stepExplanation(one.name)}</p>
                                {one.need !== null && <p data-testid="rescue-need">{one.need}</p>}
                                {!running && <div className="mr-actions"><AdminButton variant="primary" onClick={() => onAsk(one.name)}>{_("Carry out this step…")}</AdminButton></div>}
                            </div>
                        )}
                    </li>
                ))}
            </ol>
            <Judged state={state} />
            {running && (
                <div>
                    <ProgressEta title={stepTitle(work.step)} progress={work.progress} detail={work.line ?? undefined} />
                    <small className="mr-subtle">{format(_("Confirmed by $0 $1. It continues when this page is closed."), work.by, moment(work.at))}</small>
                </div>
            )}
            {stopped && (
                <Alert variant="danger" isInline role="alert" data-testid="rescue-stopped" title={format(_("The step stopped: $0"), work.error ?? "")}>
                    <p>{_("Correct the cause, then carry out the step again.")}</p>
                </Alert>
            )}
        </>
    );
}

function StepLabel({ step, running }: { step: ShownStep; running: boolean }): JSX.Element | null {
    if (running) return <HealthLabel level="WARN">{_("running")}</HealthLabel>;
    if (step.state === "done") return <HealthLabel level="OK">{_("done")}</HealthLabel>;
    return step.state === "started" ? <HealthLabel level="WARN">{_("not finished")}</HealthLabel> : null;
}

/** What xfs_repair would change; the program's lines as they are. */
function Judged({ state }: { state: RescueState }): JSX.Element | null {
    const found = state.journal?.judgement ?? null;
    if (found === null || found.problem_count === 0) return null;
    return (
        <details>
            <summary>{format(ngettext("xfs_repair -n reports $0 problem", "xfs_repair -n reports $0 problems", found.problem_count), found.problem_count)}</summary>
            <ul className="mr-notes">{found.problems.map((one, number) => <li key={`${number} ${one}`}><code>{one}</code></li>)}</ul>
        </details>
    );
}

/** After the last step, until the next boot. */
function Rescued({ state, onClose }: { state: RescueState; onClose: () => void }): JSX.Element {
    return (
        <Alert variant="warning" isInline data-testid="rescued" title={_("The pool is rescued and served again")}
            actionClose={<AlertActionCloseButton onClose={onClose} />}>
            <ul className="mr-notes" aria-label={_("What to do next")}>{afterwards(state).map((one) => <li key={one}>{one}</li>)}</ul>
        </Alert>
    );
}
