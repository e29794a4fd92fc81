// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { SearchInput } from "@patternfly/react-core/dist/esm/components/SearchInput/index.js";
import type { KeptVerification, Share } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { Usage } from "../../components/Usage";
import { _, format } from "../../lib/i18n";
import { go, link } from "../../lib/route";
import { servedState } from "./verified";
import { typeWord, writingWord } from "./words";

function Name({ share }: { share: Share }): JSX.Element {
    return (
        <>
            <a className="mr-share-name" href={link("shares", "show", share.name)}><strong>{share.name}</strong></a>
            <div className="mr-subtle mr-small">{typeWord(share.type)}{share.sealed && ` · ${_("sealed")}`}</div>
            {(share.writing ?? null) !== null && (
                <div className="mr-subtle mr-small">{writingWord(share.writing ?? "own")}{(share.group ?? null) !== null && ` (${share.group})`}</div>
            )}
            <code className="mr-small">{share.path}</code>
            {share.comment && <div className="mr-small">{share.comment}</div>}
        </>
    );
}

function NfsSide({ share }: { share: Share }): JSX.Element {
    if (!share.nfs) return <span className="mr-subtle">{_("Off")}</span>;
    if (share.networks.length === 0) return <span className="mr-subtle">{_("Closed: no client network is confirmed")}</span>;
    return (
        <ul className="mr-plain-list">
            {share.exports.map(({ client, access, sec, xprtsec }) => (
                <li key={client}>
                    <code>{client}</code>{" "}
                    <span className="mr-subtle">
                        {[access === "ro" ? _("read-only") : "", sec.join() === "sys" ? "" : sec.join(", "), xprtsec.join(", ")]
                            .filter(Boolean).join(" · ")}
                    </span>
                </li>
            ))}
        </ul>
    );
}

function SmbSide({ share: { smb, direct } }: { share: Share }): JSX.Element {
    if (direct) {
        return (
            <>
                <div>{[...direct.users, ...direct.groups.map((group) => `@${group}`)].join(", ")}</div>
                <div className="mr-subtle mr-small">SMB Direct</div>
            </>
        );
    }
    if (smb === null) return <span className="mr-subtle">{_("Off")}</span>;
    const who = [...smb.users, ...smb.groups.map((group) => `@${group}`)];
    return (
        <>
            <div>{who.join(", ")}</div>
            <div className="mr-subtle mr-small">
                {[smb.encryption === "required" ? _("encryption required") : "", smb.time_machine ? _("Time Machine") : ""]
                    .filter(Boolean).join(" · ")}
            </div>
        </>
    );
}

function Served({ share, last }: { share: Share; last: KeptVerification | undefined }): JSX.Element {
    const { level, word, why } = servedState(share, last);
    return (
        <>
            <HealthLabel level={level}>{word}</HealthLabel>
            {why !== null && <div className="mr-small">{why}</div>}
        </>
    );
}

function Actions({ share }: { share: Share }): JSX.Element {
    return (
        <div className="mr-row-actions">
            <AdminButton variant="secondary" size="sm" aria-label={format(_("Change $0"), share.name)}
                onClick={() => go(["shares", "share", share.name])}>{_("Change")}</AdminButton>
            <Button variant="secondary" size="sm" aria-label={format(_("Mount $0 on a client"), share.name)}
                onClick={() => go(["clients"], { share: share.name })}>{_("Mount")}</Button>
        </div>
    );
}

const texts = (share: Share) => [share.name, share.comment, typeWord(share.type), share.group ?? "", ...share.networks,
    ...(share.smb?.users ?? []), ...(share.smb?.groups ?? [])];

export function ShareTable({ shares, verifications }: { shares: Share[]; verifications: KeptVerification[] }): JSX.Element {
    const [wanted, setWanted] = useState("");
    const word = wanted.trim().toLowerCase();
    const rows = shares.filter((share) => texts(share).some((text) => text.toLowerCase().includes(word)));
    const columns: Column<Share>[] = [
        { title: _("Share"), heads: true, sort: (share) => share.name, cell: (share) => <Name share={share} /> },
        { title: _("NFS (Linux)"), cell: (share) => <NfsSide share={share} /> },
        { title: _("SMB (Windows, macOS, Linux)"), cell: (share) => <SmbSide share={share} /> },
        {
            title: _("Usage"),
            sort: (share) => share.used ?? -1,
            cell: (share) => <Usage label={format(_("Usage of $0"), share.name)} used={share.used ?? null} size={share.size} soft={share.soft_size} />,
        },
        { title: _("State"), cell: (share) => <Served share={share} last={verifications.find(({ result }) => result.name === share.name)} /> },
        { title: _("Actions"), cell: (share) => <Actions share={share} /> },
    ];
    return (
        <div className="mr-stack">
            <SearchInput className="mr-search" aria-label={_("Search shares")} placeholder={_("Search shares")} value={wanted}
                onChange={(_event, text) => setWanted(text)} onClear={() => setWanted("")} resetButtonLabel={_("Clear")} />
            {rows.length > 0
                ? <DataTable label={_("Shares")} testId="shares" columns={columns} rows={rows} rowKey={(share) => share.name} />
                : <p>{format(_("No share has “$0” in its name, type, comment, group, clients or users."), wanted.trim())}</p>}
        </div>
    );
}
