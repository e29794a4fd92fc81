// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { VolumeRow } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { binary, bytes, moment, UNKNOWN } from "../../lib/format";
import { _, format, ngettext } from "../../lib/i18n";
import { transportWord } from "./words";

function Name({ volume, all }: { volume: VolumeRow; all: VolumeRow[] }): JSX.Element {
    const { origin } = volume;
    return (
        <>
            <strong>{volume.name}</strong>
            <div className="mr-subtle mr-small">{format(_("created $0 by $1"), moment(volume.created), volume.by)}</div>
            {origin !== null && (
                <div className="mr-small">{format(_("cloned from $0"), all.find(({ uuid }) => uuid === origin)?.name ?? origin)}</div>
            )}
        </>
    );
}

/** All of a volume is allocated when it is created; less is what its host discarded. */
function Size({ volume: { size, allocated } }: { volume: VolumeRow }): JSX.Element {
    return (
        <>
            <div>{bytes(size)} <span className="mr-subtle">({binary(size)})</span></div>
            {allocated >= size
                ? <div className="mr-subtle mr-small">{_("all of it allocated")}</div>
                : <HealthLabel level="WARN">{format(_("$0 of $1 allocated"), bytes(allocated), bytes(size))}</HealthLabel>}
        </>
    );
}

function ExportCell({ volume }: { volume: VolumeRow }): JSX.Element {
    const { authenticated } = volume;
    if (volume.export === null) return <span className="mr-subtle">{_("Not exported")}</span>;
    const { transport, port, hosts, shared } = volume.export;
    return (
        <>
            <div>{format(_("$0, port $1"), transportWord(transport), port)}</div>
            <ul className="mr-plain-list" aria-label={format(_("Allowed hosts of $0"), volume.name)}>
                {hosts.map((host) => <li key={host}><code className="mr-small mr-anywhere">{host}</code></li>)}
            </ul>
            <div className="mr-subtle mr-small">
                {[authenticated ? _("hosts authenticate with DH-HMAC-CHAP") : _("hosts are known by their NQN alone"),
                    shared ? _("several hosts, with NVMe reservations") : ""].filter(Boolean).join(" · ")}
            </div>
        </>
    );
}

/** With a problem, an empty list of hosts may be one that the kernel does not report. */
function Hosts({ volume: { export: exported, connected, problem } }: { volume: VolumeRow }): JSX.Element {
    if (exported === null) return <>{UNKNOWN}</>;
    if (connected.length === 0) return <span className="mr-subtle">{problem === null ? _("No host is connected") : _("Unknown")}</span>;
    return (
        <ul className="mr-plain-list">
            {connected.map(({ address, connections }) => (
                <li key={address}>
                    <code>{address}</code>{" "}
                    <span className="mr-subtle mr-small">{format(ngettext("$0 connection", "$0 connections", connections), connections)}</span>
                </li>
            ))}
        </ul>
    );
}

function State({ volume: { export: exported, problem } }: { volume: VolumeRow }): JSX.Element {
    if (exported === null) return <span className="mr-subtle">{_("Not exported")}</span>;
    if (problem === null) return <HealthLabel level="OK">{_("Served")}</HealthLabel>;
    return (
        <>
            <HealthLabel level="FAIL">{_("Not served")}</HealthLabel>
            <div className="mr-small">{problem}</div>
        </>
    );
}

/** What is done with one volume. */
export interface VolumeActions {
    onConnect: (volume: VolumeRow) => void;
    onExport: (volume: VolumeRow) => void;
    onResize: (volume: VolumeRow) => void;
    onClone: (volume: VolumeRow) => void;
    onDetach: (volume: VolumeRow) => void;
    onRemove: (volume: VolumeRow) => void;
}

function Actions({ volume, ...on }: VolumeActions & { volume: VolumeRow }): JSX.Element {
    const { name } = volume;
    const exported = volume.export !== null;
    return (
        <div className="mr-row-actions">
            {volume.connect.length > 0 && (
                <Button variant="secondary" size="sm" aria-label={format(_("Connect $0 on a host"), name)}
                    onClick={() => on.onConnect(volume)}>{_("Connect")}</Button>
            )}
            <AdminButton variant="secondary" size="sm" aria-label={exported ? format(_("Change the export of $0"), name) : format(_("Export $0"), name)}
                onClick={() => on.onExport(volume)}>{exported ? _("Change export") : _("Export")}</AdminButton>
            <AdminButton variant="secondary" size="sm" aria-label={format(_("Resize $0"), name)}
                onClick={() => on.onResize(volume)}>{_("Resize")}</AdminButton>
            <AdminButton variant="secondary" size="sm" aria-label={format(_("Clone $0"), name)}
                onClick={() => on.onClone(volume)}>{_("Clone")}</AdminButton>
            {exported && (
                <AdminButton variant="secondary" size="sm" aria-label={format(_("Detach $0"), name)}
                    onClick={() => on.onDetach(volume)}>{_("Detach")}</AdminButton>
            )}
            <AdminButton variant="link" size="sm" isDanger aria-label={format(_("Remove $0"), name)}
                onClick={() => on.onRemove(volume)}>{_("Remove")}</AdminButton>
        </div>
    );
}

export function VolumeTable({ volumes, ...actions }: VolumeActions & { volumes: VolumeRow[] }): JSX.Element {
    const columns: Column<VolumeRow>[] = [
        { title: _("Volume"), heads: true, sort: ({ name }) => name, cell: (volume) => <Name volume={volume} all={volumes} /> },
        { title: _("Size"), sort: ({ size }) => size, cell: (volume) => <Size volume={volume} /> },
        { title: _("Export"), cell: (volume) => <ExportCell volume={volume} /> },
        { title: _("Connected hosts"), sort: ({ connected }) => connected.length, cell: (volume) => <Hosts volume={volume} /> },
        { title: _("State"), cell: (volume) => <State volume={volume} /> },
        { title: _("Actions"), cell: (volume) => <Actions volume={volume} {...actions} /> },
    ];
    return <DataTable label={_("Volumes")} testId="volumes" columns={columns} rows={volumes} rowKey={({ name }) => name} />;
}
