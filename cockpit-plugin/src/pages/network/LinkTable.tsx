// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { LinkReport } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { UNKNOWN } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { kindWord, sourceWord } from "./words";

function Name({ link }: { link: LinkReport }): JSX.Element {
    return (
        <>
            <strong>{link.name}</strong>
            <div className="mr-subtle mr-small">{kindWord(link)}</div>
            <div className="mr-subtle mr-small">{link.mac}</div>
        </>
    );
}

function State({ link }: { link: LinkReport }): JSX.Element {
    const { carrier, speed, kind, mode, members, active, partner } = link;
    const dead = members.filter((member) => !active.includes(member));
    return (
        <>
            {carrier
                ? <HealthLabel level="OK">{speed === null ? _("Link is up") : format(_("$0 Gbit/s"), speed / 1000)}</HealthLabel>
                : <HealthLabel level="WARN">{_("No link")}</HealthLabel>}
            {kind === "bond" && <div className="mr-small">{format(_("$0 of $1 ports carry data"), active.length, members.length)}</div>}
            {dead.map((name) => <div key={name} className="mr-small"><HealthLabel level="WARN">{format(_("$0 carries no data"), name)}</HealthLabel></div>)}
            {kind === "bond" && mode === "lacp" && (partner === null
                ? <HealthLabel level="WARN">{_("No LACP partner")}</HealthLabel>
                : <div className="mr-subtle mr-small">{format(_("LACP partner $0"), partner)}</div>)}
        </>
    );
}

function Mtu({ link: { mtu, wanted_mtu: wanted } }: { link: LinkReport }): JSX.Element {
    if (wanted !== null && mtu !== null && mtu !== wanted)
        return <HealthLabel level="WARN">{format(_("$0, configured: $1"), mtu, wanted)}</HealthLabel>;
    return <>{mtu ?? UNKNOWN}</>;
}

function Addresses({ link }: { link: LinkReport }): JSX.Element {
    return (
        <>
            {link.addresses.length > 0 && (
                <ul className="mr-plain-list" aria-label={format(_("Addresses of $0"), link.name)}>
                    {link.addresses.map((one) => <li key={one}><code className="mr-anywhere">{one}</code></li>)}
                </ul>
            )}
            <div className="mr-subtle mr-small">{sourceWord(link)}</div>
            {link.gateway !== null && <div className="mr-subtle mr-small">{format(_("gateway $0"), link.gateway)}</div>}
            {link.management && <div className="mr-small">{_("web console only")}</div>}
        </>
    );
}

export function LinkTable({ links, locked, onSet, onRemove }: {
    links: LinkReport[]; locked: boolean; onSet: (link: LinkReport) => void; onRemove: (link: LinkReport) => void;
}): JSX.Element {
    const columns: Column<LinkReport>[] = [
        { title: _("Link"), heads: true, cell: (link) => <Name link={link} /> },
        { title: _("State"), cell: (link) => <State link={link} /> },
        { title: _("MTU"), cell: (link) => <Mtu link={link} /> },
        { title: _("Addresses"), cell: (link) => <Addresses link={link} /> },
        {
            title: _("Actions"),
            cell: (link) => (
                <div className="mr-row-actions">
                    {link.part_of === null && (
                        <AdminButton variant="secondary" size="sm" isDisabled={locked} aria-label={format(_("Change $0"), link.name)}
                            onClick={() => onSet(link)}>{_("Change")}</AdminButton>
                    )}
                    {link.kind !== "port" && link.decided && (
                        <AdminButton variant="link" size="sm" isDanger isDisabled={locked} aria-label={format(_("Remove $0"), link.name)}
                            onClick={() => onRemove(link)}>{_("Remove")}</AdminButton>
                    )}
                </div>
            ),
        },
    ];
    return <DataTable label={_("Links")} columns={columns} rows={links} rowKey={({ name }) => name} />;
}
