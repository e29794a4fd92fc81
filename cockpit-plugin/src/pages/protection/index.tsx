// SPDX-License-Identifier: Apache-2.0
/** Protection: for each share its copies on this server, on a second server and off site. */
import type { JSX } from "react";
import { CheckFindings } from "../../components/CheckFindings";
import { DataTable, type Column } from "../../components/DataTable";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Loaded, NoAdmin } from "../../components/States";
import { age } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useMay } from "../../lib/permission";
import { link, useRoute } from "../../lib/route";
import type { Light, ShareProtection as Row } from "../../types/millrace";
import { LightLabel } from "./LightLabel";
import { ShareProtection } from "./ShareProtection";
import { placeWord, stateWord } from "./words";

const EVERY = 30;
const PLACES: readonly Light["place"][] = ["here", "second-server", "off-site"];

function Lit({ light }: { light: Light | undefined }): JSX.Element | null {
    if (light === undefined) return null;
    return (
        <div data-place={light.place} data-state={light.state}>
            <LightLabel light={light} />
            {light.last !== null && <div className="mr-subtle mr-small">{format(_("$0 old"), age(light.last))}</div>}
        </div>
    );
}

function columns(): Column<Row>[] {
    const at = (row: Row, place: Light["place"]) => row.lights.find((light) => light.place === place);
    return [
        { title: _("Share"), heads: true, sort: ({ share }) => share, cell: ({ share }) => <a href={link("protection", share)}>{share}</a> },
        ...PLACES.map((place): Column<Row> => ({
            title: placeWord(place),
            sort: (row) => { const light = at(row, place); return light === undefined ? "" : stateWord(light); },
            cell: (row) => <Lit light={at(row, place)} />,
        })),
    ];
}

export default function Protection(): JSX.Element {
    const may = useMay("viewer");
    const name = useRoute().path[1];
    const shown = useVerb("protection show", [], { admin: true, every: EVERY, when: may === true && name === undefined });
    if (may === false)
        return (
            <>
                <PageHeader title={_("Protection")} />
                <NoAdmin what={_("Showing copies of shares requires administrative access.")} />
            </>
        );
    if (name !== undefined) return <ShareProtection key={name} name={name} />;
    return (
        <>
            <PageHeader title={_("Protection")}>{_("Copies of each share on this server, on a second server and off site.")}</PageHeader>
            <CheckFindings checks={["protection", "snapshots", "replicas", "backups"]} />
            <Panel title={_("Shares")} wide testId="protection">
                <Loaded of={shown} what={_("Loading protection")}>
                    {({ shares }) => (shares.length === 0
                        ? <p>{_("There is no share to protect.")} <a href={link("shares")}>{_("Go to shares")}</a></p>
                        : <DataTable label={_("Copies of shares")} columns={columns()} rows={shares} rowKey={({ share }) => share} />)}
                </Loaded>
            </Panel>
        </>
    );
}
