// SPDX-License-Identifier: Apache-2.0
/** The pool that another boot drive created: it comes before any plan, and no drive of it is ever offered for erasure. */
import { useState, type JSX } from "react";
import type { SearchResult, FoundArray, FoundPool, KeptPort, KeptState } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable } from "../../components/DataTable";
import { HealthLabel, Verdict } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ErrorAlert } from "../../components/States";
import { moment, UNKNOWN } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { AdoptDialog } from "./AdoptDialog";
import { trustWord } from "./trust";

/** Arrays are started over snapshots, and the file system is read. */
const SEARCH_SECONDS = 300;

export function AdoptPanel({ found, pool, reload }: { found: SearchResult; pool: FoundPool; reload: () => void }): JSX.Element {
    const [asked, ask] = useState(false);
    const search = useChange("pool find", { timeout: SEARCH_SECONDS });
    const { kept } = pool;
    const problem = pool.problem ?? found.problem;
    const again = (
        <AdminButton variant="secondary" isLoading={search.busy} isDisabled={search.busy}
            onClick={() => { void search.go().then(reload); }}>{_("Search again")}</AdminButton>
    );
    return (
        <>
            <ErrorAlert error={search.error} />
            {problem !== null || kept === null
                ? (
                    <Verdict id="adopt" level="FAIL" title={_("The drives carry a pool that cannot be adopted")}>
                        <p>{problem}</p>
                        {found.todo && <p className="mr-todo"><strong>{_("What to do:")}</strong> {found.todo}</p>}
                        <div className="mr-actions">{again}</div>
                    </Verdict>
                )
                : (
                    <Verdict id="adopt" level="WARN" title={kept.origin === "drives" ? _("The drives carry a pool without a kept state") : format(_("The drives carry the pool of $0"), kept.host)}>
                        <p>{state(pool)}</p>
                        <p>{kept.origin === "kept" ? _("Adopt it to serve its shares again. Nothing has been written.") : closed(kept)}</p>
                        <div className="mr-actions">
                            <AdminButton variant="primary" onClick={() => ask(true)}>{_("Adopt…")}</AdminButton>
                            {again}
                        </div>
                        {pool.lacks.map((one) => <p key={one}>{_("File system")}: {one}</p>)}
                        <small className="mr-subtle">{_("File system")} <code className="mr-hash">{pool.uuid}</code></small>
                    </Verdict>
                )}
            <div className="mr-grid">
                {kept && <ComesBack kept={kept} />}
                {kept && <StaysAway kept={kept} />}
                {pool.arrays.length > 0 && <Arrays arrays={pool.arrays} />}
                {kept && kept.ports.length > 0 && <Ports ports={kept.ports} />}
            </div>
            {asked && kept !== null && pool.uuid !== null && (
                <AdoptDialog uuid={pool.uuid} kept={kept} onDone={() => { ask(false); reload(); }} onClose={() => ask(false)} />
            )}
        </>
    );
}

function state({ missing }: FoundPool): string {
    return missing === 0
        ? _("All members of its arrays are in this server.")
        : format(ngettext("Its arrays start degraded: $0 member is missing.", "Its arrays start degraded: $0 members are missing.", missing), missing);
}

/** Why nobody can open the shares afterwards. */
function closed({ origin, forgotten }: KeptState): string {
    return origin === "forgotten" && forgotten !== null
        ? format(_("A factory reset by $0, $1, forgot users, passwords and keys. After the adoption no share is exported until you allow clients and users."), forgotten.by, moment(forgotten.at))
        : _("No kept state can be read: the shares are the directories with a quota project. After the adoption no share is exported until you allow clients and users.");
}

function ComesBack({ kept }: { kept: KeptState }): JSX.Element {
    const names = (all: string[]) => (all.length === 0 ? _("none") : all.join(", "));
    return (
        <Panel title={_("What comes back")} testId="adopt-kept">
            <dl className="mr-definitions">
                {kept.origin !== "drives" && (
                    <>
                        <dt>{_("Last server")}</dt><dd>{kept.host}</dd>
                        <dt>{_("State kept")}</dt><dd>{format(_("$0, number $1, by version $2"), moment(kept.written), kept.generation, kept.release)}</dd>
                    </>
                )}
                <dt>{_("Shares")}</dt><dd>{names(kept.shares)}</dd>
                <dt>{_("Users")}</dt><dd>{names(kept.users)}</dd>
                {kept.domain !== null && (<><dt>{_("Domain")}</dt><dd>{kept.domain}</dd></>)}
                {kept.origin === "kept" && <><dt>{_("Passwords, keys and SIDs")}</dt><dd>{kept.sealed ? _("encrypted: the passphrase is needed") : _("not encrypted")}</dd></>}
                {kept.trusted.length > 0 && (
                    <>
                        <dt>{_("Power over this server")}</dt>
                        <dd>
                            <ul className="mr-plain-list">
                                {kept.trusted.map(({ kind, details }) => (
                                    <li key={kind}>{trustWord(kind)} <small className="mr-subtle mr-anywhere">{details.join(", ")}</small></li>
                                ))}
                            </ul>
                        </dd>
                    </>
                )}
            </dl>
        </Panel>
    );
}

function StaysAway({ kept }: { kept: KeptState }): JSX.Element {
    return (
        <Panel title={_("What does not come back")} testId="adopt-lost">
            <ul className="mr-notes">
                {kept.origin !== "kept" && <li>{_("Users, passwords, certificates, keys, SIDs and addresses.")}</li>}
                {kept.origin === "drives" && <li>{_("Types and sizes of the shares.")}</li>}
                {kept.problems.map((one) => <li key={one}>{kept.origin === "drives" ? one : format(_("Could not be kept: $0"), one)}</li>)}
                {kept.damaged.map((one) => <li key={one}>{format(_("A newer state is damaged and not used: $0"), one)}</li>)}
                {kept.ports.filter(({ here }) => here === null).map((one) => (
                    <li key={one.mac}>{format(_("Addresses of port $0, which is not in this server: $1"), one.name, one.addresses.join(", "))}</li>
                ))}
                <li>{_("Benchmark results, and changes made by hand below /etc.")}</li>
            </ul>
        </Panel>
    );
}

function Arrays({ arrays }: { arrays: FoundArray[] }): JSX.Element {
    return (
        <Panel title={_("Arrays")} testId="adopt-arrays" wide>
            <DataTable label={_("Arrays of the pool")} rows={arrays} rowKey={({ uuid }) => uuid} columns={[
                { title: _("Array"), cell: ({ name }) => name, heads: true },
                { title: _("Level"), cell: ({ level }) => level.toUpperCase() },
                {
                    title: _("State"), cell: ({ serials, slots }) => (serials.length >= slots
                        ? <HealthLabel level="OK">{_("complete")}</HealthLabel>
                        : <HealthLabel level="WARN">{format(_("$0 of $1 members"), serials.length, slots)}</HealthLabel>),
                },
                { title: _("Missing drives"), cell: ({ away }) => listed(away) },
                { title: _("Outdated drives"), cell: ({ outdated }) => listed(outdated) },
                { title: _("Hot spares"), cell: ({ spares }) => listed(spares) },
            ]} />
        </Panel>
    );
}

function listed(serials: string[]): JSX.Element | string {
    return serials.length === 0 ? UNKNOWN : <span className="mr-serials">{serials.join(" ")}</span>;
}

function Ports({ ports }: { ports: KeptPort[] }): JSX.Element {
    return (
        <Panel title={_("Ports")} testId="adopt-ports" wide>
            <DataTable label={_("Addresses of the pool's last server")} rows={ports} rowKey={({ mac }) => mac} columns={[
                { title: _("Addresses"), cell: ({ addresses }) => addresses.join(", "), heads: true },
                { title: _("Port of the last server"), cell: ({ name, mac }) => <>{name} <small className="mr-subtle">{mac}</small></> },
                { title: _("Port of this server"), cell: ({ here }) => here ?? _("none: they are not set") },
                { title: _("Recognized by"), cell: recognized },
            ]} />
        </Panel>
    );
}

function recognized({ by }: KeptPort): string {
    switch (by) {
    case "mac": return _("MAC address");
    case "name": return _("name of the port");
    case null: return UNKNOWN;
    }
}
