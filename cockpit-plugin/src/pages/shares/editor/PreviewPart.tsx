// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Preview } from "../../../types/millrace";
import { ErrorAlert } from "../../../components/States";
import { Panel } from "../../../components/Panel";
import { useVerb, type Result } from "../../../lib/hooks";
import { _ } from "../../../lib/i18n";
import { useDebounced } from "../../../lib/debounce";

/** What the program would do with `words`, asked when nothing has changed for a moment; `passed` where it would do it. */
export function useDryRun(verb: DryRun, words: string[], when: boolean): Result<Preview> & { passed: boolean } {
    const asked = useDebounced(words);
    const still = JSON.stringify(asked) === JSON.stringify(words);
    const seen = useVerb(verb, asked, { admin: true, when: when && still });
    return { ...seen, passed: when && still && !seen.busy && seen.data !== undefined && seen.error === undefined };
}

type DryRun = "share create --dry-run" | "share set --dry-run";

/** What the program would render, in its own words; also where only it can see what is wrong. */
export function PreviewPart({ seen, good }: { seen: Result<Preview>; good: boolean }): JSX.Element {
    const shown = good && seen.error === undefined ? seen.data : undefined;
    return (
        <Panel title={_("Preview")} wide testId="preview">
            {good && seen.error !== undefined && <ErrorAlert error={seen.error} />}
            {!good && <p className="mr-subtle">{_("Complete the form to preview the NFS and SMB configuration.")}</p>}
            {shown !== undefined && (
                <div className="mr-fields">
                    <div>
                        <h3 className="mr-small">/etc/exports.d/millrace.exports</h3>
                        <pre className="mr-pre">{shown.exports.join("\n") || _("not served over NFS")}</pre>
                    </div>
                    <div>
                        <h3 className="mr-small">/etc/samba/smb.conf</h3>
                        <pre className="mr-pre">{shown.smb.join("\n") || _("not served over SMB")}</pre>
                    </div>
                </div>
            )}
        </Panel>
    );
}
