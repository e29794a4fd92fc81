// SPDX-License-Identifier: Apache-2.0
/** Growth of the pool on larger drives: the gain is shown by a dry run, and confirmed by its hash. */
import { useState, type JSX } from "react";
import type { LiveArray } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { bytes } from "../../lib/format";
import { useVerb, type Result } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { ChangeDialog } from "./ChangeProgress";
import { Proposal } from "./Proposal";
import { useDriveChange } from "./useDriveChange";

/** Seconds: each drive is probed. */
const PATIENCE = 180;

interface GrowProps {
    arrays: LiveArray[];
    progress: Result<Outputs["drive progress"]>;
    reload: () => void;
}

export function GrowButton(props: GrowProps): JSX.Element {
    const [asked, ask] = useState(false);
    return (
        <>
            <AdminButton variant="secondary" size="sm" onClick={() => ask(true)}>{_("Grow…")}</AdminButton>
            {asked && <GrowDialog {...props} onClose={() => ask(false)} />}
        </>
    );
}

function GrowDialog({ arrays, progress, reload, onClose }: GrowProps & { onClose: () => void }): JSX.Element {
    const change = useDriveChange("grow", progress, reload);
    const { data, error, busy, reload: again } = useVerb("pool grow --dry-run", [], { admin: true, timeout: PATIENCE, when: change.now === undefined });
    if (change.now !== undefined) return <ChangeDialog now={change.now} arrays={arrays} onAgain={change.forget} onClose={onClose} />;
    const proposal = busy || error !== undefined ? undefined : data;
    return (
        <ConfirmDialog title={_("Grow the pool?")} action={_("Grow pool")} ready={proposal !== undefined} busy={change.busy} error={change.error}
            onConfirm={() => { if (proposal) change.go([`--plan=${proposal.sha256}`]); }} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("After each drive was replaced by a larger one, the pool uses all of them. It stays mounted and served.")}</p>
                {proposal && <p>{format(_("Gain: $0"), bytes(proposal.plan.gain))}</p>}
                <Proposal of={{ proposal, error: busy ? undefined : error, busy, reload: again }} />
            </div>
        </ConfirmDialog>
    );
}
