// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { protocolName } from "../../lib/protocols";
import { link } from "../../lib/route";
import type { Sample } from "../../lib/watch";

/** Names that fit; the page of shares lists all. */
const SHOWN = 6;

export function ClientsPanel({ now }: { now: Sample | undefined }): JSX.Element {
    const sessions = useVerb("session list", [], { admin: "allowed", every: 10 });
    return (
        <Panel title={_("Clients")} testId="clients" actions={<a href={link("shares")}>{_("Connected clients")}</a>}>
            {now && now.protocols.length > 0 && (
                <dl className="mr-pairs">
                    {now.protocols.map((one) => (
                        <div key={one.name}>
                            <dt>{protocolName(one.name)}</dt>
                            <dd>{one.clients === null ? _("unknown") : format(ngettext("$0 client", "$0 clients", one.clients), one.clients)}</dd>
                        </div>
                    ))}
                </dl>
            )}
            <Loaded of={sessions} what={_("Loading connected clients")}>
                {({ sessions: all, warnings }) => (
                    <>
                        {all.length === 0 && warnings.length === 0 && <p>{_("No clients are connected.")}</p>}
                        <ul className="mr-clients">
                            {all.slice(0, SHOWN).map((one) => (
                                <li key={`${one.protocol} ${one.host} ${one.name}`}>
                                    <span>{one.name || one.host}</span>
                                    <small className="mr-subtle">{format(_("$0 from $1"), protocolName(one.protocol), one.host)}</small>
                                </li>
                            ))}
                        </ul>
                        {all.length > SHOWN && <small>{format(_("and $0 more"), all.length - SHOWN)}</small>}
                        {warnings.map((text) => <p key={text}><small className="mr-subtle">{text}</small></p>)}
                    </>
                )}
            </Loaded>
        </Panel>
    );
}
