// SPDX-License-Identifier: Apache-2.0
/** A change of drives that goes on or has ended, in the dialog that began it and on the page. */
import { useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { ChangeProgress, LiveArray } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { CopyBlock } from "../../components/CopyBlock";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { rate } from "../../lib/format";
import type { Result } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { changeResult, changeState, changeTitle, stepWord } from "./change-words";
import { mayFail } from "./words";

/** Goes on with a change that a tool stopped. */
const GO_ON = "millrace drive resume";

/** What may still fail while an array is changed. */
export function Redundancy({ names, arrays }: { names: string[]; arrays: LiveArray[] }): JSX.Element {
    return <>{arrays.filter(({ name }) => names.includes(name)).map((one) => <p key={one.name}>{format(_("Array $0: $1"), one.name, mayFail(one))}</p>)}</>;
}

function ChangeNow({ now, arrays }: { now: ChangeProgress; arrays: LiveArray[] }): JSX.Element {
    const { change, done, total, step, progress, bytes_per_second, seconds_left } = now;
    const { plan, error } = change;
    const state = changeState(now);
    const names = [...plan.partitions.flatMap(({ array }) => array ?? []), ...plan.leaves];
    return (
        <div className="mr-stack">
            {state === "done" && <p>{changeResult(plan)}</p>}
            {state === "running" && (
                <ProgressEta title={format(_("Step $0 of $1: $2"), Math.min(done + 1, total), total, stepWord(step))} progress={progress ?? done / total}
                    secondsLeft={progress === null ? undefined : seconds_left} detail={bytes_per_second === null ? undefined : rate(bytes_per_second)} />
            )}
            {state === "stopped" && (
                <Alert variant="danger" isInline role="alert" data-testid="error" title={format(_("The change stopped: $0"), error ?? "")}>
                    <p>{_("Correct the cause, then let the change go on:")}</p>
                    <CopyBlock label={_("Command to go on with the change")} text={GO_ON} />
                </Alert>
            )}
            {state === "failed" && (
                <Alert variant="danger" isInline role="alert" data-testid="error" title={format(_("The change failed: $0"), error ?? "")}>
                    <p>{_("It has ended. Correct the cause, then start the change again from the list of drives.")}</p>
                </Alert>
            )}
            {state !== "done" && <Redundancy names={names} arrays={arrays} />}
            {state === "running" && <small className="mr-subtle">{_("The change goes on without this page.")}</small>}
        </div>
    );
}

/** The dialog while a change goes on, and after its end. */
export function ChangeDialog({ now, arrays, onAgain, onClose }: {
    now: ChangeProgress; arrays: LiveArray[]; onAgain: () => void; onClose: () => void;
}): JSX.Element {
    const again = now.change.error !== null;
    return (
        <ConfirmDialog title={changeTitle(now.change.plan)} action={again ? _("Start again") : _("Close")} onConfirm={again ? onAgain : onClose} onClose={onClose}>
            <ChangeNow now={now} arrays={arrays} />
        </ConfirmDialog>
    );
}

/** On the page: the change that goes on, or how the last one failed until that was read. */
export function ChangePanel({ progress, arrays }: { progress: Result<Outputs["drive progress"]>; arrays: LiveArray[] }): JSX.Element | null {
    const [read, setRead] = useState<string>();
    const now = progress.data?.change;
    const state = changeState(now);
    if (!now || state === "none" || state === "done" || (state === "failed" && read === now.change.id)) return null;
    return (
        <Panel title={changeTitle(now.change.plan)} wide testId="drive-change"
            actions={state === "failed" && <Button variant="link" isInline onClick={() => setRead(now.change.id)}>{_("Dismiss")}</Button>}>
            <ChangeNow now={now} arrays={arrays} />
        </Panel>
    );
}
