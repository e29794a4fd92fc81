// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Switch } from "@patternfly/react-core/dist/esm/components/Switch/index.js";
import type { ShareLogEntry, ShareLogLoss, Share } from "../../types/millrace";
import { DataTable, type Column } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded, NoAdmin } from "../../components/States";
import { moment } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useAdmin } from "../../lib/permission";
import { CHANGE_SECONDS } from "../../lib/seconds";
import { actionWord } from "./words";

const LINES = "50";

const columns = (): Column<ShareLogEntry>[] => [
    { title: _("Time"), heads: true, sort: ({ at }) => at, cell: ({ at }) => moment(at) },
    { title: _("User"), sort: ({ user }) => user, cell: ({ user }) => user },
    { title: _("Client"), sort: ({ host }) => host, cell: ({ host }) => host },
    { title: _("Action"), sort: ({ action }) => action, cell: ({ action }) => actionWord(action) },
    { title: _("File"), sort: ({ path }) => path, cell: ({ path, target }) => <code>{target === null ? path : `${path} → ${target}`}</code> },
];

/** What is missing in the log: the journal takes a limited number of lines an hour. */
const gap = (lost: ShareLogLoss[]) => format(_("Accesses are missing: $0 lines of the SMB server were dropped until $1, more than the journal takes in an hour."),
    lost.reduce((sum, { lines }) => sum + lines, 0), moment(lost[lost.length - 1]?.at ?? ""));

/** Who opened and changed what over SMB, newest first, and the switch that records it. */
export function AccessLogPanel({ share, onChanged }: { share: Share; onChanged: () => void }): JSX.Element {
    const admin = useAdmin();
    const on = share.smb?.audit === true;
    const log = useVerb("share log", [share.name, `--lines=${LINES}`], { admin: true, when: admin === true });
    const change = useChange("share set", { timeout: CHANGE_SECONDS });
    const toggle = async () => {
        if (await change.go([share.name, on ? "--no-audit" : "--audit"]) === undefined) return;
        log.reload();
        onChanged();
    };
    return (
        <Panel title={_("Access log")} wide testId="share-log"
            actions={<Switch id="audit" label={_("Record accesses over SMB")} isChecked={on} isDisabled={admin !== true || change.busy} onChange={() => void toggle()} />}>
            <div className="mr-stack">
                <ErrorAlert error={change.error} />
                <p className="mr-subtle mr-small">
                    {_("Opening a file takes about 13 % more CPU time of the SMB server. The records are in the journal, which is bounded: the oldest make room.")}
                    {share.nfs && ` ${_("Accesses over NFS are not recorded.")}`}
                </p>
                {admin === false ? <NoAdmin what={_("The access log requires administrative access.")} /> : (
                    <Loaded of={log} what={_("Loading the access log")}>
                        {({ entries, lost }) => (
                            <>
                                {lost.length > 0 && <Alert isInline variant="warning" title={gap(lost)} />}
                                {entries.length > 0
                                    ? <DataTable label={_("Access log")} columns={columns()} rows={[...entries].reverse()} rowKey={({ at, user, path, action }) => `${at} ${user} ${action} ${path}`} />
                                    : <p>{_("No accesses are recorded.")}</p>}
                            </>
                        )}
                    </Loaded>
                )}
            </div>
        </Panel>
    );
}
