// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { ClientSession } from "../../types/millrace";
import { DataTable, type Column } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { Loaded, NoAdmin } from "../../components/States";
import { number, UNKNOWN } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import { useMay } from "../../lib/permission";

const EVERY = 10;

function columns(): Column<ClientSession>[] {
    return [
        { title: _("Client"), heads: true, sort: ({ host }) => host, cell: ({ host }) => host || UNKNOWN },
        { title: _("Protocol"), sort: ({ protocol }) => protocol, cell: ({ protocol, version }) => (protocol === "nfs" ? `NFS ${version}` : version) },
        { title: _("User"), sort: ({ name }) => name, cell: ({ name }) => name || UNKNOWN },
        { title: _("Transport"), cell: ({ transport }) => (transport === "unknown" ? _("Unknown") : transport.toUpperCase()) },
        { title: _("Connections"), figures: true, sort: ({ lanes }) => lanes ?? -1, cell: ({ lanes }) => number(lanes) },
        { title: _("Encryption"), cell: ({ encryption }) => encryption ?? UNKNOWN },
        { title: _("Open files"), figures: true, sort: ({ open_files }) => open_files ?? -1, cell: ({ open_files }) => number(open_files) },
    ];
}

/** Who is connected. The kernel and smbd tell it only to root. */
export function Sessions(): JSX.Element {
    const admin = useMay("viewer");
    const found = useVerb("session list", [], { admin: true, every: EVERY, when: admin === true });
    return (
        <Panel title={_("Connected clients")} wide testId="sessions">
            {admin === false
                ? <NoAdmin what={_("Listing connected clients requires administrative access.")} />
                : (
                    <Loaded of={found} what={_("Loading connected clients")}>
                        {({ sessions, warnings }) => (
                            <div className="mr-stack">
                                {warnings.map((warning) => <Alert key={warning} variant="warning" isInline isPlain title={warning} />)}
                                {sessions.length > 0
                                    ? <DataTable label={_("Connected clients")} columns={columns()} rows={sessions}
                                        rowKey={({ protocol, host, name }) => `${protocol} ${host} ${name}`} />
                                    : warnings.length === 0 && <p>{_("No clients are connected.")}</p>}
                            </div>
                        )}
                    </Loaded>
                )}
        </Panel>
    );
}
