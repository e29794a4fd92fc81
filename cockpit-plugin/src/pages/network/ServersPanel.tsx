// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { NetworkReport } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { Panel } from "../../components/Panel";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";

/** The name of this server, and the servers and routers that it asks. */
export function ServersPanel({ report, locked, onOpen }: {
    report: NetworkReport; locked: boolean; onOpen: (dialog: "hostname" | "servers" | "routes") => void;
}): JSX.Element {
    const { host_name: name, domain, dns, search, ntp, routes } = report;
    return (
        <Panel title={_("Name and servers")} testId="servers">
            <div className="mr-stack">
                <dl className="mr-definitions">
                    <dt>{_("Host name")}</dt><dd>{name}</dd>
                    <dt>{_("Domain")}</dt><dd>{domain ?? _("none")} <a href={link("settings")}>{_("Active Directory settings")}</a></dd>
                    <dt>{_("DNS servers")}</dt><dd>{dns.join(", ") || _("from DHCP")}</dd>
                    <dt>{_("Search domains")}</dt><dd>{search.join(", ") || _("none")}</dd>
                    <dt>{_("NTP servers")}</dt><dd>{ntp.join(", ") || _("from DHCP, or the default")}</dd>
                    <dt>{_("Static routes")}</dt>
                    <dd>{routes.length === 0 ? _("none") : routes.map(({ network, gateway }) => (
                        <div key={network}>{format(_("$0 through $1"), network, gateway)}</div>
                    ))}</dd>
                </dl>
                <div className="mr-actions">
                    <AdminButton variant="secondary" isDisabled={domain !== null} onClick={() => onOpen("hostname")}>{_("Change host name…")}</AdminButton>
                    <AdminButton variant="secondary" isDisabled={locked} onClick={() => onOpen("servers")}>{_("Change DNS and NTP…")}</AdminButton>
                    <AdminButton variant="secondary" isDisabled={locked} onClick={() => onOpen("routes")}>{_("Change routes…")}</AdminButton>
                </div>
            </div>
        </Panel>
    );
}
