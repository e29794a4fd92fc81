// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { ClientSession, HistoryReport } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { rate } from "../../lib/format";
import { seriesOf } from "../../lib/history";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { useAdmin } from "../../lib/permission";
import { protocolName } from "../../lib/protocols";
import { link } from "../../lib/route";
import type { Sample } from "../../lib/watch";

/** Names that fit; the page of shares lists all. */
const SHOWN = 6;

const clients = (count: number) => format(ngettext("$0 client", "$0 clients", count), count);

/** Who is connected, with those first that transferred most in the last minute. */
export function ClientsPanel({ now, report }: { now: Sample | undefined; report: HistoryReport | undefined }): JSX.Element {
    const admin = useAdmin();
    return (
        <Panel title={_("Clients")} testId="clients" actions={<a href={link("shares")}>{_("Connected clients")}</a>}>
            {admin === true ? <Sessions report={report} /> : now && <Counts counts={now.protocols.map(({ name, clients: count }) => ({ name, count }))} />}
        </Panel>
    );
}

function Counts({ counts }: { counts: { name: string; count: number | null }[] }): JSX.Element {
    return (
        <dl className="mr-pairs">
            {counts.map(({ name, count }) => (
                <div key={name}><dt>{protocolName(name)}</dt><dd>{count === null ? _("unknown") : clients(count)}</dd></div>
            ))}
        </dl>
    );
}

/** The list and its counts come from one answer, so that they agree. */
function Sessions({ report }: { report: HistoryReport | undefined }): JSX.Element {
    const sessions = useVerb("session list", [], { admin: true, every: 10 });
    const last = (name: string, { host }: ClientSession) => seriesOf(report, name, host)?.points.at(-1) ?? null;
    const transferred = (one: ClientSession) => (last("client-read", one) ?? 0) + (last("client-write", one) ?? 0);
    return (
        <Loaded of={sessions} what={_("Loading connected clients")}>
            {({ sessions: all, warnings }) => (
                <>
                    <Counts counts={(["nfs", "smb"] as const).map((name) => ({ name, count: all.filter(({ protocol }) => protocol === name).length }))} />
                    {all.length === 0 && warnings.length === 0 && <p>{_("No clients are connected.")}</p>}
                    <ul className="mr-clients">
                        {[...all].sort((a, b) => transferred(b) - transferred(a)).slice(0, SHOWN).map((one) => (
                            <li key={`${one.protocol} ${one.host} ${one.name}`}>
                                <span>{one.name || one.host}</span>
                                <small className="mr-subtle">{format(_("$0 from $1"), protocolName(one.protocol), one.host)}</small>
                                {transferred(one) > 0 && (
                                    <small>{format(_("read $0, write $1"), rate(last("client-read", one)), rate(last("client-write", one)))}</small>
                                )}
                            </li>
                        ))}
                    </ul>
                    {all.length > SHOWN && <small>{format(_("and $0 more"), all.length - SHOWN)}</small>}
                    {warnings.map((text) => <p key={text}><small className="mr-subtle">{text}</small></p>)}
                </>
            )}
        </Loaded>
    );
}
