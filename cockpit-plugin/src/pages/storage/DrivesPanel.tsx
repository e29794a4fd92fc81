// SPDX-License-Identifier: Apache-2.0
/** Every drive of the server, and those that the pool misses. */
import { useState, type JSX } from "react";
import { ExpandableSection } from "@patternfly/react-core/dist/esm/components/ExpandableSection/index.js";
import type { DriveRow } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { DataTable } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { bytes, day, number, percent, UNKNOWN } from "../../lib/format";
import type { Result } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { DriveActions } from "./DriveActions";
import { TestAll, TestOf } from "./TestDrives";
import { driveLevel, driveRole, driveVerdict } from "./words";

export function DrivesPanel({ drives }: { drives: Result<Outputs["drive list"]> }): JSX.Element {
    const { reload } = drives;
    return (
        <Panel title={_("Drives")} wide testId="drives" actions={drives.data && <TestAll rows={drives.data.drives} onDone={reload} />}>
            <Loaded of={drives} what={_("Loading drives")}>
                {(data) => (data.drives.length === 0 ? <p>{_("No drives.")}</p> : (
                    <>
                        <Drives rows={data.drives} reload={reload} />
                        <Records rows={data.drives} />
                    </>
                ))}
            </Loaded>
        </Panel>
    );
}

function Drives({ rows, reload }: { rows: DriveRow[]; reload: () => void }): JSX.Element {
    // On a server whose drives were never tested and are all in use there is nothing to say.
    const tests = rows.some(({ test, testing, actions }) => test !== null || testing !== null || actions.includes("test"));
    return (
        <DataTable label={_("Drives of this server")} testId="drives-list" rows={rows} rowKey={({ serial, name }) => `${serial} ${name ?? ""}`} columns={[
            { title: _("Bay"), cell: ({ bay }) => bay ?? UNKNOWN, sort: ({ bay }) => bay ?? "~", heads: true },
            { title: _("Serial number"), cell: ({ serial, name, model }) => <>{serial || name} <small className="mr-subtle">{model}</small></>, sort: ({ serial, name }) => serial || (name ?? "") },
            { title: _("Size"), cell: ({ size_bytes }) => bytes(size_bytes), figures: true },
            { title: _("Role"), cell: driveRole },
            { title: _("State"), cell: (one) => <HealthLabel level={driveLevel(one)}>{driveVerdict(one)}</HealthLabel>, sort: driveVerdict },
            { title: _("Temperature"), cell: ({ temperature_celsius: at }) => (at === null ? UNKNOWN : `${number(at)} °C`), sort: ({ temperature_celsius }) => temperature_celsius ?? -1, figures: true },
            { title: _("Wear"), cell: wear, sort: ({ wear_percent }) => wear_percent ?? -1, figures: true },
            ...(tests ? [{ title: _("Test"), cell: (one: DriveRow) => <TestOf drive={one} /> }] : []),
            { title: _("Actions"), cell: (one) => <DriveActions drive={one} onDone={reload} /> },
        ]} />
    );
}

/** What each drive said of itself last; of one that is gone, before it went. */
function Records({ rows }: { rows: DriveRow[] }): JSX.Element {
    const [open, setOpen] = useState(false);
    const plain = { figures: true } as const;
    return (
        <ExpandableSection toggleText={_("Firmware, errors and age")} isExpanded={open} onToggle={(_event, now) => setOpen(now)}>
            {open && (
                <DataTable label={_("Firmware, errors and age of the drives")} testId="drives-records" rows={rows} rowKey={({ serial, name }) => `${serial} ${name ?? ""}`} columns={[
                    { title: _("Bay"), cell: ({ bay }) => bay ?? UNKNOWN, sort: ({ bay }) => bay ?? "~", heads: true },
                    { title: _("Serial number"), cell: ({ serial, name }) => serial || name, sort: ({ serial, name }) => serial || (name ?? "") },
                    { title: _("Firmware"), cell: ({ firmware }) => firmware || UNKNOWN, sort: ({ firmware }) => firmware },
                    { title: _("Spare left"), cell: ({ spare_percent: left }) => (left === null ? UNKNOWN : percent(left / 100)), sort: ({ spare_percent }) => spare_percent ?? -1, ...plain },
                    { title: _("Media errors"), cell: ({ media_errors }) => number(media_errors), sort: ({ media_errors }) => media_errors ?? -1, ...plain },
                    { title: _("Power-on hours"), cell: ({ power_on_hours }) => number(power_on_hours), sort: ({ power_on_hours }) => power_on_hours ?? -1, ...plain },
                    { title: _("Locks itself"), cell: locks, sort: locks },
                    { title: _("Last seen"), cell: ({ last_seen }) => (last_seen === null ? UNKNOWN : day(last_seen)), sort: ({ last_seen }) => last_seen ?? "" },
                ]} />
            )}
        </ExpandableSection>
    );
}

function locks({ opal }: DriveRow): string {
    switch (opal) {
    case "off": return _("can (Opal), not in use");
    case "unlocked": return _("yes (Opal), unlocked until it loses power");
    case "locked": return _("yes (Opal), locked");
    case null: return _("no, or not reported");
    }
}

function wear({ wear_percent, wear_ends }: DriveRow): string {
    if (wear_percent === null) return UNKNOWN;
    const worn = percent(wear_percent / 100);
    return wear_ends === null ? worn : format(_("$0 ($1 on $2)"), worn, percent(1), day(wear_ends));
}
