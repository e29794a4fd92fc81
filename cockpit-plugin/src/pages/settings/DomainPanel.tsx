// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { Domain, DomainReport, MembershipChange } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { HealthLabel, type Level } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { JoinDialog, LeaveDialog } from "./domain-dialogs";
import { Done, type Outcome } from "../../components/Done";

/** Seconds: winbind asks controllers that may not answer. */
const PATIENCE = 180;

function trustLevel(trusted: boolean | null): Level {
    return trusted === null ? "UNKNOWN" : trusted ? "OK" : "FAIL";
}

function trustWord(trusted: boolean | null): string {
    return trusted === null ? _("Unknown") : trusted ? _("trust is valid") : _("trust is broken");
}

/** Membership in an Active Directory. */
export function DomainPanel(): JSX.Element {
    const found = useVerb("domain show", [], { admin: "allowed", timeout: PATIENCE });
    const [open, setOpen] = useState<"join" | "leave">();
    const [did, setDid] = useState<Outcome>();
    const changed = (title: string) => (report: MembershipChange) => {
        setOpen(undefined);
        setDid({ title, lines: report.verified, warnings: report.warnings });
        found.reload();
    };
    const domain = found.data?.domain ?? null;
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Active Directory")} testId="domain">
                <Loaded of={found} what={_("Loading domain status")}>
                    {(report) => (
                        <div className="mr-stack">
                            {report.domain === null
                                ? <p>{_("Not a member of a domain: shares use the local users of this server.")}</p>
                                : <Membership report={report} domain={report.domain} />}
                            <div className="mr-actions">
                                {report.domain === null
                                    ? <AdminButton variant="secondary" onClick={() => setOpen("join")}>{_("Join a domain…")}</AdminButton>
                                    : <AdminButton variant="secondary" isDanger onClick={() => setOpen("leave")}>{_("Leave the domain…")}</AdminButton>}
                            </div>
                        </div>
                    )}
                </Loaded>
            </Panel>
            {open === "join" && <JoinDialog onDone={changed(_("This server has joined the domain."))} onClose={() => setOpen(undefined)} />}
            {open === "leave" && domain !== null && (
                <LeaveDialog domain={domain} onDone={changed(_("This server has left the domain."))} onClose={() => setOpen(undefined)} />
            )}
        </>
    );
}

function Membership({ report, domain }: { report: DomainReport; domain: Domain }): JSX.Element {
    const { clock_offset: offset } = report;
    return (
        <>
            <dl className="mr-definitions">
                <dt>{_("Domain")}</dt>
                <dd>{domain.realm} ({domain.workgroup}) <HealthLabel level={trustLevel(report.trusted)}>{trustWord(report.trusted)}</HealthLabel></dd>
                <dt>{_("Machine account")}</dt><dd>{[`${domain.machine}$`, report.host_name].filter(Boolean).join(", ")}</dd>
                <dt>{_("Domain controller")}</dt><dd>{report.controller ?? _("none reachable")}</dd>
                <dt>{_("DNS servers")}</dt><dd>{domain.dns.join(", ") || _("from the network configuration")}</dd>
                <dt>{_("Clock")}</dt>
                <dd>{offset === null ? _("Unknown") : format(ngettext("$0 second off domain time", "$0 seconds off domain time", Math.abs(offset)), offset)}</dd>
                <dt>{_("Kerberos keys")}</dt><dd>{keyWords(report) || _("none")}</dd>
            </dl>
            {report.problems.length > 0 && (
                <ul className="mr-findings" aria-label={_("Findings")}>
                    {report.problems.map((text) => <li key={text} className="mr-note-warn">{text}</li>)}
                </ul>
            )}
        </>
    );
}

/** The services that have a key, without the many names of each. */
function keyWords({ keys }: DomainReport): string {
    return [...new Set(keys.map(({ principal }) => principal.split("@")[0] ?? "").filter((one) => one.includes("/")))].sort().join(", ");
}
