// SPDX-License-Identifier: Apache-2.0
/** A job that runs or waits: how far, who ordered it, what a restart does, and the way to cancel it. */
import { useEffect, useState, type JSX } from "react";
import type { CurrentJob } from "../types/millrace";
import { AdminButton } from "./AdminButton";
import { ConfirmDialog } from "./ConfirmDialog";
import { Panel } from "./Panel";
import { ProgressEta } from "./ProgressEta";
import { rate } from "../lib/format";
import { useChange } from "../lib/hooks";
import { _, format } from "../lib/i18n";
import { afterRestart, jobTitle, useJob, whyNot, type JobKind } from "../lib/jobs";

export function JobView({ job, onCancelled }: { job: CurrentJob; onCancelled?: (() => void) | undefined }): JSX.Element {
    const { name, what, state, progress, seconds_left, bytes_per_second, by, cancellable } = job;
    const why = cancellable ? null : whyNot(job);
    const title = format(_("job", "$0: $1"), jobTitle(name), what);
    return (
        <div className="mr-job" data-testid={`job-${name}`}>
            {state === "waiting"
                ? <p>{title} <small className="mr-subtle">{_("waiting")}</small></p>
                : <ProgressEta title={title} progress={progress} secondsLeft={progress === null ? undefined : seconds_left}
                    detail={bytes_per_second === null ? undefined : rate(bytes_per_second)} />}
            <small className="mr-subtle">{by !== null && format(_("Ordered by $0."), by)} {afterRestart(job)}</small>
            {cancellable && <Cancel job={job} onCancelled={onCancelled} />}
            {why !== null && <small className="mr-subtle">{why}</small>}
        </div>
    );
}

/** The job of a kind on the page of its subject; nothing where there is none. */
export function JobPanel({ kind, onEnded }: { kind: JobKind; onEnded?: (() => void) | undefined }): JSX.Element | null {
    const { now, ended, look } = useJob(kind);
    const id = ended?.ended;
    useEffect(() => { if (id !== undefined) onEnded?.(); }, [id, onEnded]);
    if (now === undefined) return null;
    return <Panel title={jobTitle(kind)} testId={`panel-${kind}`}><JobView job={now} onCancelled={look} /></Panel>;
}

function Cancel({ job, onCancelled }: { job: CurrentJob; onCancelled: (() => void) | undefined }): JSX.Element {
    const [asking, setAsking] = useState(false);
    // Until its unit has put back what it changed.
    const change = useChange("job cancel", { timeout: 0 });
    const confirm = async () => {
        if (await change.go([job.name]) === undefined) return;
        setAsking(false);
        onCancelled?.();
    };
    const title = jobTitle(job.name);
    return (
        <>
            <AdminButton variant="link" size="sm" aria-label={format(_("Stop job: $0"), title)}
                onClick={() => { change.forget(); setAsking(true); }}>{_("Stop job")}</AdminButton>
            {asking && (
                <ConfirmDialog danger title={format(_("Stop the job “$0”?"), title)} action={_("Stop job")} busy={change.busy} error={change.error}
                    onConfirm={() => void confirm()} onClose={() => setAsking(false)}>
                    <p>{job.what}</p>
                    <p>{_("Its changes are rolled back where possible. The job can be started again.")}</p>
                </ConfirmDialog>
            )}
        </>
    );
}
