// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { Outputs } from "../../types/outputs";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded, NoAdmin } from "../../components/States";
import { moment, UNKNOWN } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useMay } from "../../lib/permission";
import { Done, type Outcome } from "../../components/Done";
import { PeoplePanel } from "./PeoplePanel";

const EVERY = 10;

type Session = Outputs["access sessions"]["sessions"][number];
type Entry = Outputs["access log"]["changes"][number];

const placeWord = (where: Session["where"]): string => ({
    "web console": _("Web console"), ssh: "ssh", console: _("Console"), other: _("Other"),
}[where]);

function SshPanel({ on, onDone }: { on: boolean; onDone: () => void }): JSX.Element {
    const change = useChange("access ssh");
    const turn = async () => { if (await change.go([on ? "off" : "on"]) !== undefined) onDone(); };
    return (
        <Panel title={_("ssh")} testId="ssh"
            actions={<AdminButton variant="secondary" size="sm" isLoading={change.busy} isDisabled={change.busy} onClick={() => void turn()}>{on ? _("Turn ssh off") : _("Turn ssh on")}</AdminButton>}>
            <ErrorAlert error={change.error} />
            <p>{on ? _("ssh is on: administrators sign in with their keys, and with a code where they have a second factor.") : _("ssh is off.")}</p>
        </Panel>
    );
}

function SessionsPanel(): JSX.Element {
    const found = useVerb("access sessions", [], { admin: "allowed", every: EVERY });
    const end = useChange("access disconnect");
    const columns: Column<Session>[] = [
        { title: _("Account"), heads: true, sort: ({ name }) => name, cell: ({ name }) => name },
        { title: _("Where"), cell: ({ where }) => placeWord(where) },
        { title: _("Address"), cell: ({ address }) => address || UNKNOWN },
        { title: _("Since"), cell: ({ since }) => (since === null ? UNKNOWN : moment(since)) },
        {
            title: _("Actions"),
            cell: ({ id, name }) => (
                <AdminButton variant="secondary" size="sm" isDisabled={end.busy} aria-label={format(_("Disconnect session $0 of $1"), id, name)}
                    onClick={() => void end.go([id]).then(() => found.reload())}>{_("Disconnect")}</AdminButton>
            ),
        },
    ];
    return (
        <Panel title={_("Sessions")} wide testId="access-sessions">
            <ErrorAlert error={end.error} />
            <Loaded of={found} what={_("Loading sessions")}>
                {({ sessions }) => (sessions.length > 0
                    ? <DataTable label={_("Sessions")} columns={columns} rows={sessions} rowKey={({ id }) => id} />
                    : <p>{_("No sessions.")}</p>)}
            </Loaded>
        </Panel>
    );
}

function outcome({ status }: Entry): string {
    return status === null ? _("Not ended") : status === 0 ? _("Done") : format(_("Failed ($0)"), status);
}

/** Only root reads the log. */
function LogPanel(): JSX.Element {
    const may = useMay("viewer");
    const log = useVerb("access log", [], { admin: true, every: EVERY, when: may === true });
    const columns: Column<Entry>[] = [
        { title: _("Time"), sort: ({ when }) => when, cell: ({ when }) => moment(when) },
        { title: _("Account"), heads: true, sort: ({ name }) => name, cell: ({ name }) => name },
        { title: _("By"), cell: ({ origin }) => (origin === "page" ? _("page") : _("command line")) },
        { title: _("Command"), cell: ({ words }) => <code>{`millrace ${words}`}</code> },
        { title: _("Result"), cell: outcome },
    ];
    return (
        <Panel title={_("Changes")} wide testId="access-log">
            {may === false
                ? <NoAdmin what={_("Showing the log of changes requires administrative access.")} />
                : (
                    <Loaded of={log} what={_("Loading changes")}>
                        {({ changes }) => (changes.length > 0
                            ? <DataTable label={_("Changes")} columns={columns} rows={changes} rowKey={({ when, name, words }) => `${when} ${name} ${words}`} />
                            : <p>{_("No changes yet.")}</p>)}
                    </Loaded>
                )}
        </Panel>
    );
}

export default function Access(): JSX.Element {
    const list = useVerb("access list", [], { admin: "allowed" });
    const me = useVerb("access who");
    const [did, setDid] = useState<Outcome>();
    const done = (title: string) => { setDid({ title, lines: [], warnings: [] }); list.reload(); };
    return (
        <>
            <PageHeader title={_("Access")}>{_("Accounts that manage this server, their sessions and their changes.")}</PageHeader>
            <Done did={did} onClose={() => setDid(undefined)} />
            <div className="mr-grid">
                <Loaded of={list} what={_("Loading people")}>
                    {({ people, ssh }) => (
                        <>
                            <PeoplePanel people={people} me={me.data?.name ?? ""} onDone={done} />
                            <SshPanel on={ssh} onDone={list.reload} />
                        </>
                    )}
                </Loaded>
                <SessionsPanel />
                <LogPanel />
            </div>
        </>
    );
}
