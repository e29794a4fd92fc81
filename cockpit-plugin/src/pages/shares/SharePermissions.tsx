// SPDX-License-Identifier: Apache-2.0
/** Set the permissions of what is in a share by its rule. The work is a unit of the server: it goes on without this page. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { PermissionsReport, Share } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { number } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { follow, type CliError } from "../../lib/millrace";
import { writingMeaning } from "./words";

/** What was compared or set, in sentences. */
export function permissionsLines({ applied, entries, differ, linked, refused }: PermissionsReport): string[] {
    return [
        format(applied ? _("$0 of $1 files and directories have new permissions.")
            : _("$0 of $1 files and directories have other permissions."), number(differ), number(entries)),
        ...(linked > 0 ? [format(_("$0 files have several names (hard links) and keep their permissions."), number(linked))] : []),
        ...(refused > 0 ? [format(_("$0 files are immutable and keep their permissions."), number(refused))] : []),
    ];
}

export function SharePermissions({ share, onDone, onClose }: {
    share: Share; onDone: (report: PermissionsReport) => void; onClose: () => void;
}): JSX.Element {
    const [found, setFound] = useState<PermissionsReport>();
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<CliError>();
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);

    const start = (words: string[], ended: (report: PermissionsReport) => void) => {
        const signal = (stop.current = new AbortController()).signal;
        setBusy(true);
        setError(undefined);
        follow("share permissions", [share.name, ...words], (line) => { if ("entries" in line) ended(line); }, { admin: true, signal })
            .then(() => { if (!signal.aborted) setBusy(false); }, (failed: CliError) => { setBusy(false); setError(failed); });
    };
    return (
        <ConfirmDialog title={format(_("Permissions in the share $0"), share.name)} action={found === undefined ? _("Compare") : _("Set permissions")}
            ready={found === undefined || found.differ > 0} busy={busy} error={error}
            onConfirm={() => (found === undefined ? start([], setFound) : start(["--apply"], onDone))} onClose={onClose}>
            <div className="mr-stack">
                <p>{writingMeaning(share.writing ?? "own", share.group ?? "")}</p>
                <p>{_("New files follow this rule. Files that existed before keep their permissions until these are set here: groups, modes and access lists change, owners stay.")}</p>
                {found !== undefined && (
                    <Alert isInline variant="info" title={permissionsLines(found)[0] ?? ""}>
                        {permissionsLines(found).slice(1).map((line) => <p key={line}>{line}</p>)}
                    </Alert>
                )}
            </div>
        </ConfirmDialog>
    );
}
