// SPDX-License-Identifier: Apache-2.0
/** The front of the server: each bay in its place, with the state of its drive in words and by colour. */
import type { JSX } from "react";
import type { DriveRow } from "../../types/millrace";
import { LevelIcon } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { bytes } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";
import { driveLevel, driveVerdict } from "../storage/words";

/** Fronts that servers have; one with more bays is drawn with as many as it has. */
const FRONTS = [12, 24];
const FURTHEST = 96;

const numbered = ({ bay }: DriveRow) => (bay !== null && /^\d{1,2}$/.test(bay) ? Number(bay) : 0);

/** As many bays as the front has; 0 where no drive reports the number of its bay. */
export function bayCount(rows: readonly DriveRow[]): number {
    const last = Math.max(0, ...rows.map(numbered));
    return last > FURTHEST ? 0 : FRONTS.find((one) => one >= last && last > 0) ?? last;
}

export function Bays({ rows }: { rows: readonly DriveRow[] }): JSX.Element | null {
    if (rows.length === 0) return null;
    const count = bayCount(rows);
    const others = count === 0 ? rows : rows.filter((one) => numbered(one) === 0);
    return (
        <Panel title={_("Front view")} wide testId="bays" actions={<a href={link("storage")}>{_("Drives")}</a>}>
            <ol className="mr-front">
                {Array.from({ length: count }, (_one, index) => index + 1).map((bay) => (
                    <Bay key={bay} bay={bay} drive={rows.find((one) => numbered(one) === bay)} />
                ))}
            </ol>
            {others.length > 0 && (
                <ul className="mr-front mr-front-others" aria-label={_("Drives without a numbered bay")}>
                    {others.map((one) => <Place key={one.serial || one.name} title={one.bay ?? one.name ?? one.serial} drive={one} />)}
                </ul>
            )}
        </Panel>
    );
}

function Bay({ bay, drive }: { bay: number; drive: DriveRow | undefined }): JSX.Element {
    if (drive === undefined) return <li className="mr-slot mr-slot-empty"><strong>{bay}</strong><small>{_("empty")}</small></li>;
    return <Place title={String(bay)} drive={drive} />;
}

function Place({ title, drive }: { title: string; drive: DriveRow }): JSX.Element {
    const level = driveLevel(drive);
    const words = driveVerdict(drive);
    return (
        <li className={`mr-slot mr-slot-${level.toLowerCase()}`}>
            <a href={link("storage")} title={`${drive.serial}: ${words}`}
                aria-label={format(_("Bay $0: $1, $2, $3"), title, drive.serial || (drive.name ?? ""), bytes(drive.size_bytes), words)}>
                <strong>{title}</strong>
                <LevelIcon level={level} />
                <small>{words}</small>
            </a>
        </li>
    );
}
