// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Alert, AlertActionCloseButton } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { ChangeReport, Share } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { CheckFindings } from "../../components/CheckFindings";
import { allOf, HistoryPanel, type HistoryFigure } from "../../components/HistoryPanel";
import { JobPanel } from "../../components/JobView";
import { NfsClosed } from "../../components/NfsClosed";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Empty, ErrorAlert, Loaded } from "../../components/States";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useAdmin } from "../../lib/permission";
import { go, link, useRoute } from "../../lib/route";
import { CHANGE_SECONDS } from "../../lib/seconds";
import { useStatus } from "../../lib/status";
import { Accounts } from "./Accounts";
import { Changes } from "./Changes";
import { CloneShare } from "./CloneShare";
import { RemoveShare } from "./RemoveShare";
import { SharePermissions, permissionsLines } from "./SharePermissions";
import { UnsealShare } from "./UnsealShare";
import { Sessions } from "./Sessions";
import { ShareEditor } from "./ShareEditor";
import { SharePage } from "./SharePage";
import { ShareTable } from "./ShareTable";

/** What a change did, kept above the page until it is closed. */
interface Done {
    title: string;
    lines: string[];
    warnings: string[];
    /** The share to mount next. */
    share?: string;
}

/** Checks of health that are about serving. */
const SERVING = ["shares", "nfs", "smb"];
const EVERY = 30;

function DoneAlert({ done, onClose }: { done: Done; onClose: () => void }): JSX.Element {
    return (
        <Alert variant={done.warnings.length > 0 ? "warning" : "success"} isInline title={done.title} role="status" data-testid="done"
            actionClose={<AlertActionCloseButton onClose={onClose} aria-label={_("Close")} />}>
            {[...done.lines, ...done.warnings].map((line) => <p key={line}>{line}</p>)}
            {done.share !== undefined && (
                <p><a href={`${link("clients")}?share=${encodeURIComponent(done.share)}`}>{_("Mount on a client")}</a></p>
            )}
        </Alert>
    );
}

function busiest(): HistoryFigure[] {
    return [
        { title: _("Read from shares"), lines: allOf("share-read") },
        { title: _("Written to shares"), lines: allOf("share-write") },
        { title: _("SMB requests to shares"), lines: allOf("share-operations") },
        { title: _("Sent to clients over TCP"), lines: allOf("client-read") },
        { title: _("Received from clients over TCP"), lines: allOf("client-write") },
        { title: _("SMB requests of clients"), lines: allOf("client-operations") },
    ];
}

function NoShares({ pool }: { pool: boolean | undefined }): JSX.Element {
    if (pool === false)
        return (
            <Empty title={_("No pool yet")} actions={<a href={link("storage")}>{_("Go to the plan")}</a>}>
                {_("Shares are directories of the pool. Approve the plan first; the share “data” is then created automatically.")}
            </Empty>
        );
    return (
        <Empty title={_("No shares yet")}
            actions={<AdminButton variant="primary" onClick={() => go(["shares", "create"])}>{_("New share")}</AdminButton>}>
            {_("A share is a directory of the pool that clients mount over NFS, SMB or both.")}
        </Empty>
    );
}

export default function Shares(): JSX.Element {
    const { path } = useRoute();
    const admin = useAdmin();
    const status = useStatus();
    // What a share holds is told to root only; the rest to everybody.
    const list = useVerb("share list", [], { admin: admin === true, when: admin !== null, every: EVERY });
    const users = useVerb("user list");
    const groups = useVerb("group list");
    const history = useVerb("config history", [], { admin: admin === true, when: admin !== null });
    const verify = useChange("share verify", { timeout: CHANGE_SECONDS });
    const [removing, setRemoving] = useState<Share>();
    const [cloning, setCloning] = useState<Share>();
    const [permitting, setPermitting] = useState<Share>();
    const [unsealing, setUnsealing] = useState<Share>();
    const [done, setDone] = useState<Done>();

    const changed = (what: Done) => {
        setDone(what);
        for (const one of [list, users, groups, history, status]) one.reload();
    };
    const saved = ({ share, verified, warnings }: ChangeReport, title: string) => {
        changed({ title, lines: verified, warnings, ...(share !== null && { share: share.name }) });
    };
    const look = async () => {
        if (await verify.go() !== undefined) list.reload();
    };

    const editing = path[1] === "create" ? null : path[1] === "share" ? path[2] : undefined;
    if (editing !== undefined)
        return (
            <ShareEditor name={editing}
                onDone={(report) => {
                    const name = report.share?.name ?? "";
                    saved(report, editing === null ? format(_("Share $0 is served."), name) : format(_("Share $0 has been changed."), name));
                    go(["shares"]);
                }} />
        );
    const dialogs = (
        <>
            {cloning !== undefined && (
                <CloneShare share={cloning} onClose={() => setCloning(undefined)}
                    onDone={({ source, target, verified, warnings, share }) => {
                        changed({ title: format(_("$0 has been cloned to $1."), source, target), lines: verified, warnings, ...(share && { share: target }) });
                        setCloning(undefined);
                    }} />
            )}
            {permitting !== undefined && (
                <SharePermissions share={permitting} onClose={() => setPermitting(undefined)}
                    onDone={(report) => {
                        changed({ title: format(_("The permissions in $0 have been set."), report.share), lines: permissionsLines(report), warnings: [] });
                        setPermitting(undefined);
                    }} />
            )}
            {unsealing !== undefined && (
                <UnsealShare share={unsealing} onClose={() => setUnsealing(undefined)}
                    onDone={(report) => {
                        saved(report, format(_("Share $0 is no longer sealed."), unsealing.name));
                        setUnsealing(undefined);
                    }} />
            )}
            {removing !== undefined && (
                <RemoveShare share={removing} onClose={() => setRemoving(undefined)}
                    onDone={(report) => {
                        saved(report, format(_("Share $0 has been removed."), removing.name));
                        setRemoving(undefined);
                        go(["shares"]);
                    }} />
            )}
        </>
    );
    const opened = path[1] === "show" ? path[2] : undefined;
    if (opened !== undefined)
        return (
            <>
                {done !== undefined && <DoneAlert done={done} onClose={() => setDone(undefined)} />}
                <JobPanel kind="clone" onEnded={list.reload} />
                <JobPanel kind="copy" onEnded={list.reload} />
                <JobPanel kind="permissions" onEnded={list.reload} />
                <SharePage key={`${opened} ${done?.title ?? ""}`} name={opened} onChanged={list.reload} onClone={setCloning} onPermissions={setPermitting}
                    onUnseal={setUnsealing} onRemove={setRemoving} />
                {dialogs}
            </>
        );
    return (
        <>
            <PageHeader title={_("Shares")} actions={(
                <>
                    <AdminButton variant="secondary" isLoading={verify.busy} isDisabled={verify.busy || !list.data?.shares.length}
                        onClick={() => void look()}>{_("Verify shares")}</AdminButton>
                    <AdminButton variant="primary" isDisabled={status.data?.pool === null} onClick={() => go(["shares", "create"])}>{_("New share")}</AdminButton>
                </>
            )}>
                {_("Directories of the pool exported over NFS and SMB, and their access rules.")}
            </PageHeader>
            {done !== undefined && <DoneAlert done={done} onClose={() => setDone(undefined)} />}
            <ErrorAlert error={verify.error} retry={() => void look()} />
            <CheckFindings checks={SERVING} />
            <JobPanel kind="clone" onEnded={list.reload} />
            <JobPanel kind="copy" onEnded={list.reload} />
            <JobPanel kind="permissions" onEnded={list.reload} />
            <NfsClosed onDone={({ verified, warnings }) => changed({ title: _("Client networks confirmed."), lines: verified, warnings })} />
            <div className="mr-pair">
                <Panel title={_("Shares")} wide testId="share-list">
                    <Loaded of={list} what={_("Loading shares")}>
                        {({ shares, verifications }) => (shares.length > 0
                            ? <ShareTable shares={shares} verifications={verifications ?? []} />
                            : <NoShares pool={status.data === undefined ? undefined : status.data.pool !== null} />)}
                    </Loaded>
                </Panel>
                <Sessions />
                <HistoryPanel title={_("Busiest shares and clients")} testId="shares-history"
                    kinds={["share-read", "share-write", "share-operations", "client"]} figures={busiest()} />
                <Accounts users={users} groups={groups} onDone={(title) => changed({ title, lines: [], warnings: [] })} />
                <Changes of={history} onDone={({ verified, warnings }) => changed({ title: _("The earlier state has been restored."), lines: verified, warnings })} />
            </div>
            {dialogs}
        </>
    );
}
