// SPDX-License-Identifier: Apache-2.0
/** One share: who may, where it is, what is connected, whether it is served, and who opened what. */
import { Fragment, type JSX, type ReactNode } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { OpenFile, Share, ShareConnection, ShareDetails } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { HistoryPanel, namedLines, type HistoryFigure } from "../../components/HistoryPanel";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded, NoAdmin } from "../../components/States";
import { Usage } from "../../components/Usage";
import { moment, number } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useAdmin } from "../../lib/permission";
import { go, link } from "../../lib/route";
import { CHANGE_SECONDS } from "../../lib/seconds";
import { AccessLogPanel } from "./AccessLogPanel";
import { servedState } from "./verified";
import { cachingWord, denialsWord, typeWord, writingMeaning } from "./words";

const EVERY = 30;

/** What is done with one share in a dialog. */
export interface ShareActions {
    onClone: (share: Share) => void;
    onPermissions: (share: Share) => void;
    onUnseal: (share: Share) => void;
    onRemove: (share: Share) => void;
}

function Facts({ facts }: { facts: [string, ReactNode][] }): JSX.Element {
    return <dl className="mr-definitions">{facts.map(([name, value]) => <Fragment key={name}><dt>{name}</dt><dd>{value}</dd></Fragment>)}</dl>;
}

function Actions({ share, onClone, onPermissions, onUnseal, onRemove }: ShareActions & { share: Share }): JSX.Element {
    return (
        <div className="mr-row-actions">
            <AdminButton variant="primary" onClick={() => go(["shares", "share", share.name])}>{_("Change")}</AdminButton>
            <Button variant="secondary" onClick={() => go(["clients"], { share: share.name })}>{_("Mount")}</Button>
            <Button variant="secondary" onClick={() => go(["protection", share.name])}>{_("Snapshots")}</Button>
            <AdminButton variant="secondary" onClick={() => onClone(share)}>{_("Clone")}</AdminButton>
            {(share.writing ?? null) !== null && (
                <AdminButton variant="secondary" onClick={() => onPermissions(share)}>{_("Permissions")}</AdminButton>
            )}
            {share.sealed && <AdminButton variant="secondary" onClick={() => onUnseal(share)}>{_("Unseal")}</AdminButton>}
            <AdminButton variant="link" isDanger isDisabled={share.sealed} onClick={() => onRemove(share)}>{_("Remove")}</AdminButton>
        </div>
    );
}

function WhoPart({ share, denials, caching }: ShareDetails): JSX.Element {
    const side = share.smb ?? share.direct;
    const facts: [string, ReactNode][] = [
        [_("Writing"), (share.writing ?? null) === null ? typeWord(share.type) : writingMeaning(share.writing ?? "own", share.group ?? "")],
        ...(share.group ? [[_("Group that writes"), share.group] as [string, ReactNode]] : []),
        [_("NFS clients"), share.nfs ? share.exports.map(({ client, access }) => (access === "ro" ? `${client} (${_("read-only")})` : client)).join(", ")
            || _("Closed: no client network is confirmed") : _("Off")],
        [_("SMB users"), side ? [...side.users, ...side.groups.map((group) => `@${group}`)].join(", ") : _("Off")],
        ...(share.smb ? [[_("SMB networks"), share.smb.networks.join(", ") || _("none")] as [string, ReactNode]] : []),
        ...(caching ? [[_("Caching by SMB clients"), cachingWord(caching)] as [string, ReactNode]] : []),
        ...(denials ? [[_("Access lists of Windows"), denialsWord(denials)] as [string, ReactNode]] : []),
    ];
    return <Panel title={_("Access rules")} testId="share-who"><Facts facts={facts} /></Panel>;
}

function WherePart({ share, owner, group, mode, follows }: ShareDetails): JSX.Element {
    return (
        <Panel title={_("Directory and usage")} testId="share-where">
            <Facts facts={[
                [_("Directory"), <code key="path">{share.path}</code>],
                [_("Owner, group, mode"), (
                    <>
                        {mode === null ? _("unknown") : `${owner ?? ""}:${group ?? ""} ${mode}`}
                        {follows === false && <div>{_("The directory does not follow the rule for writing: set the permissions.")}</div>}
                    </>
                )],
                [_("Share type"), typeWord(share.type)],
                [_("Usage"), <Usage key="used" label={format(_("Usage of $0"), share.name)} used={share.used ?? null} size={share.size} soft={share.soft_size} />],
            ]} />
        </Panel>
    );
}

const clientColumns = (): Column<ShareConnection>[] => [
    { title: _("Client"), heads: true, sort: ({ host }) => host, cell: ({ host }) => host },
    { title: _("User"), sort: ({ user }) => user, cell: ({ user }) => user },
    { title: _("Connected since"), sort: ({ since }) => since, cell: ({ since }) => moment(since) },
    { title: _("Open files"), figures: true, sort: ({ files }) => files, cell: ({ files }) => number(files) },
];

const fileColumns = (): Column<OpenFile>[] => [
    { title: _("File"), heads: true, sort: ({ path }) => path, cell: ({ path }) => <code>{path}</code> },
    { title: _("User"), sort: ({ user }) => user, cell: ({ user }) => user },
    { title: _("Opened"), cell: ({ writing }) => (writing ? _("to write") : _("to read")) },
];

function ConnectedPart({ details, onChanged }: { details: ShareDetails; onChanged: () => void }): JSX.Element {
    const { share, connections, problem } = details;
    const admin = useAdmin();
    const disconnect = useChange("share disconnect");
    const confirm = async () => { if (await disconnect.go([share.name]) !== undefined) onChanged(); };
    const clients = connections?.clients ?? [];
    return (
        <Panel title={_("Connected")} wide testId="share-connected" actions={clients.length > 0 && (
            <AdminButton variant="secondary" size="sm" isDisabled={disconnect.busy} isLoading={disconnect.busy}
                onClick={() => void confirm()}>{_("Disconnect SMB clients")}</AdminButton>
        )}>
            <div className="mr-stack">
                <ErrorAlert error={disconnect.error} />
                {admin === false && share.smb !== null && <NoAdmin what={_("Listing connected clients requires administrative access.")} />}
                {admin !== false && problem && <Alert variant="warning" isInline isPlain title={problem} />}
                {connections && clients.length === 0 && <p>{_("No SMB clients have this share open.")}</p>}
                {clients.length > 0 && <DataTable label={_("Connected clients")} columns={clientColumns()} rows={clients} rowKey={({ host, user, since }) => `${host} ${user} ${since}`} />}
                {connections && connections.files.length > 0 && (
                    <>
                        <DataTable label={_("Open files")} columns={fileColumns()} rows={connections.files} rowKey={({ path, user, writing }) => `${path} ${user} ${String(writing)}`} />
                        {connections.open_files > connections.files.length && <p>{format(_("$0 files are open in all."), number(connections.open_files))}</p>}
                    </>
                )}
                {clients.length > 0 && <p className="mr-subtle mr-small">{_("Disconnecting closes open files; clients connect again by themselves.")}</p>}
                {share.nfs && <p className="mr-subtle mr-small">{_("NFS clients are listed for the server as a whole: the kernel does not name their share.")}</p>}
            </div>
        </Panel>
    );
}

function VerifiedPart({ details, onChanged }: { details: ShareDetails; onChanged: () => void }): JSX.Element {
    const { share, verification } = details;
    const verify = useChange("share verify", { timeout: CHANGE_SECONDS });
    const { level, word, why } = servedState(share, verification ?? undefined);
    const result = verification?.result;
    return (
        <Panel title={_("Verification")} wide testId="share-verified" actions={(
            <AdminButton variant="secondary" size="sm" isDisabled={verify.busy} isLoading={verify.busy}
                onClick={() => void verify.go([share.name]).then((report) => { if (report !== undefined) onChanged(); })}>{_("Verify")}</AdminButton>
        )}>
            <ErrorAlert error={verify.error} />
            <HealthLabel level={level}>{word}</HealthLabel>
            {why !== null && <p>{why}</p>}
            {result?.seen.map((line) => <p key={line} className="mr-small">{line}</p>)}
            {result?.files.map((line) => <p key={line} className="mr-small">{line}</p>)}
        </Panel>
    );
}

function figures(): HistoryFigure[] {
    return [
        { title: _("Read and written"), lines: namedLines({ "share-read": _("Read"), "share-write": _("Write") }) },
        { title: _("SMB requests"), lines: namedLines({ "share-operations": _("SMB requests") }) },
        { title: _("Usage"), lines: namedLines({ "share-used": _("Used") }) },
    ];
}

export function SharePage({ name, onChanged, ...actions }: ShareActions & { name: string; onChanged: () => void }): JSX.Element {
    const admin = useAdmin();
    const found = useVerb("share show", [name], { admin: admin === true, when: admin !== null, every: EVERY });
    const changed = () => { found.reload(); onChanged(); };
    return (
        <>
            <PageHeader title={format(_("Share $0"), name)} actions={found.data && <Actions share={found.data.share} {...actions} />}>
                <a href={link("shares")}>{_("All shares")}</a>
            </PageHeader>
            <Loaded of={found} what={_("Loading the share")}>
                {(details) => (
                    <div className="mr-pair">
                        <WhoPart {...details} />
                        <WherePart {...details} />
                        <ConnectedPart details={details} onChanged={changed} />
                        <HistoryPanel title={_("History of this share")} testId="share-history" kinds={[`share:${name}`]} figures={figures()} />
                        <VerifiedPart details={details} onChanged={changed} />
                        {details.share.smb !== null && <AccessLogPanel share={details.share} onChanged={changed} />}
                        {details.share.smb === null && details.share.nfs && (
                            <Panel title={_("Access log")} wide><p>{_("The NFS server of Linux records no accesses. For a record, serve the share over SMB only.")}</p></Panel>
                        )}
                    </div>
                )}
            </Loaded>
        </>
    );
}
