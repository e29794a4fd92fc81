// SPDX-License-Identifier: Apache-2.0
/** Drives that need attention, drawn in their bays: the first thing on a page, with what to do. */
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { DriveRow, HealthFinding } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { asLevel, type Level } from "../../components/Health";
import { HealthFindings, worstFirst } from "../../components/HealthFindings";
import { _, format } from "../../lib/i18n";
import { go } from "../../lib/route";
import { useStatus } from "../../lib/status";
import { Locate } from "./DriveActions";
import { driveLevel, driveVerdict } from "./words";
import "./storage.css";

/** The checks of health whose subject is a drive. A slow link is the server's: those are on its page. */
const CHECKS = ["drives", "returns", "apart"];

interface Attention {
    drive: DriveRow;
    level: Level;
    /** What the checks of health found about it, the worst first. */
    findings: HealthFinding[];
}

export function DriveAttention({ rows }: { rows: DriveRow[] }): JSX.Element {
    const { data } = useStatus();
    const changing = data?.jobs.some(({ name }) => name === "drive-change") ?? false;
    const found = rows.map((one) => attention(one, data?.health.findings ?? [])).filter((one) => one !== undefined)
        // The drive that is being replaced has its own panel.
        .filter(({ drive, level }) => !(changing && level === "FAIL" && drive.needs_bytes === null))
        .sort((a, b) => Number(b.level === "FAIL") - Number(a.level === "FAIL"));
    return <>{found.map((one) => <Shown key={`${one.drive.serial} ${one.drive.name ?? ""}`} of={one} rows={rows} />)}</>;
}

function attention(drive: DriveRow, health: HealthFinding[]): Attention | undefined {
    const findings = worstFirst(health).filter(({ check, subject, level }) => drive.serial !== "" && subject === drive.serial
        && CHECKS.includes(check) && (level === "WARN" || level === "FAIL"));
    const verdict = needsIt(drive) ? driveLevel(drive) : "OK";
    if (verdict === "OK" && findings.length === 0) return undefined;
    const level = verdict === "FAIL" || asLevel(findings[0]?.level) === "FAIL" ? "FAIL" : "WARN";
    return { drive, level, findings };
}

/** A rebuild has its panel, and what is no member may be there for any reason. */
function needsIt({ verdict, what }: DriveRow): boolean {
    return verdict === "faulty" || verdict === "missing" || verdict === "returned" || (verdict === "in-sync" && what !== null);
}

function Shown({ of, rows }: { of: Attention; rows: DriveRow[] }): JSX.Element {
    const { drive, level, findings } = of;
    const { serial, bay } = drive;
    return (
        <Alert variant={level === "FAIL" ? "danger" : "warning"} isInline data-testid="drive-attention" data-serial={serial} data-level={level}
            title={format(_("Drive $0 (bay $1): $2"), serial, bay ?? _("unknown"), needsIt(drive) ? driveVerdict(drive) : _("needs attention"))}
            actionLinks={(
                <>
                    {drive.needs_bytes !== null && (
                        <AdminButton least="operator" variant="secondary" aria-label={format(_("Replace drive $0 now"), serial)} onClick={() => go(["storage", "replace", serial])}>
                            {_("Replace…")}
                        </AdminButton>
                    )}
                    {drive.actions.includes("locate") && <Locate drive={drive} />}
                </>
            )}>
            <Bays rows={rows} chosen={bay} level={level} />
            {findings.length > 0 && <HealthFindings findings={findings} />}
        </Alert>
    );
}

/** All bays in their order, the one of this drive marked. */
function Bays({ rows, chosen, level }: { rows: DriveRow[]; chosen: string | null; level: Level }): JSX.Element | null {
    if (chosen === null) return null;
    const bays = [...new Set(rows.map(({ bay }) => bay).filter((bay) => bay !== null))]
        .sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
    return (
        <div className="mr-bays" role="img" aria-label={format(_("Bay $0, in a row of $1"), chosen, bays.length)}>
            {bays.map((bay) => (
                <span key={bay} className={bay === chosen ? `mr-bay mr-bay-${level.toLowerCase()}` : "mr-bay"} data-bay={bay}>{bay}</span>
            ))}
        </div>
    );
}
