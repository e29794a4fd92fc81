// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { HistoryEntry } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { DataTable, type Column } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { moment } from "../../lib/format";
import { useChange, type Result } from "../../lib/hooks";
import type { Outputs } from "../../types/outputs";
import { _, format } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";

/** How many changes are shown; the program keeps more. */
const SHOWN = 10;

/** The last changes of shares, users and groups, and the way back to the state after one of them. */
export function Changes({ of, onDone }: {
    of: Result<Outputs["config history"]>; onDone: (lines: { verified: string[]; warnings: string[] }) => void;
}): JSX.Element {
    const [chosen, setChosen] = useState<HistoryEntry>();
    const rollback = useChange("config rollback", { timeout: CHANGE_SECONDS });
    const columns = (newest: number): Column<HistoryEntry>[] => [
        { title: _("noun", "Change"), heads: true, cell: ({ number }) => number },
        { title: _("Time"), cell: ({ when }) => moment(when) },
        { title: _("User"), cell: ({ who }) => who },
        { title: _("Command"), cell: ({ what }) => <code>{what}</code> },
        {
            title: _("Rollback"),
            cell: (one) => (one.number === newest ? _("Current state") : (
                <AdminButton variant="secondary" size="sm" aria-label={format(_("Roll back to change $0"), one.number)}
                    onClick={() => { rollback.forget(); setChosen(one); }}>{_("Roll back")}</AdminButton>
            )),
        },
    ];
    const confirm = async (one: HistoryEntry) => {
        const report = await rollback.go([String(one.number)]);
        if (report === undefined) return;
        setChosen(undefined);
        onDone(report);
    };
    return (
        <Panel title={_("Recent changes")} wide testId="changes">
            <Loaded of={of} what={_("Loading recent changes")}>
                {({ changes }) => (changes.length > 0
                    ? <DataTable label={_("Recent changes")} columns={columns(changes[0]?.number ?? 0)} rows={changes.slice(0, SHOWN)}
                        rowKey={({ number }) => String(number)} />
                    : <p>{_("No changes yet.")}</p>)}
            </Loaded>
            {chosen !== undefined && (
                <ConfirmDialog title={format(_("Roll back to change $0?"), chosen.number)} action={_("Roll back")}
                    busy={rollback.busy} error={rollback.error} onConfirm={() => void confirm(chosen)} onClose={() => setChosen(undefined)}>
                    <p>{_("Restores shares, users and groups to the state after this change. Files are neither changed nor deleted. The rollback is recorded as a change and can itself be rolled back.")}</p>
                    <p>{_("A network that differs is in force for a minute, and kept if it is confirmed on the page Network.")}</p>
                </ConfirmDialog>
            )}
        </Panel>
    );
}
