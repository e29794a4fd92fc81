// SPDX-License-Identifier: Apache-2.0
/** Drives that are missing or faulty and can be replaced now: the first thing on a page, with what to do. */
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { DriveRow } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { _, format } from "../../lib/i18n";
import { go } from "../../lib/route";
import { driveLevel, driveVerdict } from "./words";

export function DriveAttention({ rows }: { rows: DriveRow[] }): JSX.Element {
    return (
        <>
            {rows.filter((one) => driveLevel(one) === "FAIL" && one.needs_bytes !== null).map((one) => (
                <Alert key={one.serial} variant="danger" isInline data-testid="drive-attention"
                    title={format(_("Drive $0 (bay $1): $2"), one.serial, one.bay ?? _("unknown"), driveVerdict(one))}
                    actionLinks={(
                        <AdminButton variant="secondary" aria-label={format(_("Replace drive $0 now"), one.serial)} onClick={() => go(["storage", "replace", one.serial])}>
                            {_("Replace…")}
                        </AdminButton>
                    )} />
            ))}
        </>
    );
}
