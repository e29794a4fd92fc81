// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { DownloadButton } from "../../components/DownloadButton";
import { _ } from "../../lib/i18n";

const TYPES = {
    html: "text/html",
    xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    csv: "text/csv",
    json: "application/json",
} as const;

/** The run as a file, made by the program. */
export function Exports({ of = "bench", run }: { of?: "bench" | "tuner"; run: string }): JSX.Element {
    const button = (kind: keyof typeof TYPES, text: string, variant: "primary" | "secondary" = "secondary") => (
        <DownloadButton variant={variant} words={[of, "export", run, "--format", kind, "-"]} file={`millrace-${of === "bench" ? "" : "tuner-"}${run}.${kind}`} type={TYPES[kind]}>
            {text}
        </DownloadButton>
    );
    return (
        <div className="mr-actions">
            {button("html", _("Report (HTML)"), "primary")}
            {button("xlsx", _("Spreadsheet (XLSX)"))}
            {button("csv", _("Table (CSV)"))}
            {button("json", _("Everything (JSON)"))}
        </div>
    );
}
