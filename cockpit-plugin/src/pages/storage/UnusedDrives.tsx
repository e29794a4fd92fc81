// SPDX-License-Identifier: Apache-2.0
/** What the plan does to drives that are not blank: nothing. And which drives it leaves out, and why. */
import type { JSX } from "react";
import type { DriveRole } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { bytes } from "../../lib/format";
import { _, format, ngettext } from "../../lib/i18n";

const TAKEN = ["data", "log", "spare"];

/** Drives that the plan writes to. */
export const taken = (drives: readonly DriveRole[]): DriveRole[] => drives.filter(({ role }) => TAKEN.includes(role));
export const left = (drives: readonly DriveRole[]): DriveRole[] => drives.filter(({ role }) => !TAKEN.includes(role));

export function stateWord(state: DriveRole["state"]): string {
    switch (state) {
    case "blank": return _("blank");
    case "ours": return _("member of a Millrace pool");
    case "foreign": return _("contains foreign data");
    case "boot": return _("boot drive");
    case "unknown": return _("content unknown");
    }
}

/** One sentence on what is lost. */
export function erased(drives: readonly DriveRole[]): string {
    const used = taken(drives);
    const filled = used.filter(({ state }) => state !== "blank");
    if (filled.length === 0)
        return format(ngettext("Nothing. The only drive that is used is blank: all probes succeeded and found no data.",
            "Nothing. All $0 drives that are used are blank: all probes succeeded and found no data.", used.length), used.length);
    return format(_("The plan uses drives that are not blank: $0. The server refuses to write to these drives."), filled.map(({ serial }) => serial).join(", "));
}

export function UnusedDrives({ drives }: { drives: DriveRole[] }): JSX.Element {
    const rest = left(drives);
    return (
        <Panel title={_("Erased and unchanged drives")} testId="erased">
            <p><strong>{_("Erased:")}</strong> {erased(drives)}</p>
            {rest.length === 0
                ? <p>{_("All drives of this server are used.")}</p>
                : <UnusedDrivesTable drives={rest} />}
        </Panel>
    );
}

function UnusedDrivesTable({ drives }: { drives: DriveRole[] }): JSX.Element {
    return (
        <DataTable label={_("Drives that stay unchanged")} rows={drives} rowKey={(one) => one.serial || one.reason} columns={[
            { title: _("Unchanged"), cell: (one) => one.serial || one.model || _("drive without a serial number"), heads: true },
            { title: _("Size"), cell: (one) => bytes(one.size), figures: true },
            { title: _("State"), cell: (one) => stateWord(one.state) },
            { title: _("Why"), cell: (one) => one.reason },
        ]} />
    );
}
UnusedDrives.Table = UnusedDrivesTable;
