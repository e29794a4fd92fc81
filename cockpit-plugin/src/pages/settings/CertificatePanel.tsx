// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { CertificateChange, CertificateReport } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { CopyBlock } from "../../components/CopyBlock";
import { HealthLabel, type Level } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded } from "../../components/States";
import { moment } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { CertificateDialog } from "./CertificateDialog";
import { Done, type Outcome } from "../../components/Done";

/** Days before the end from which on it is time; the program's health warns then, too. */
const SOON = 30;

function levelOf(days: number): Level {
    return days < 0 ? "FAIL" : days < SOON ? "WARN" : "OK";
}

function daysWord(days: number): string {
    return days < 0 ? _("expired") : format(ngettext("$0 day left", "$0 days left", days), days);
}

/** The certificate of the web console and of NFS over TLS. */
export function CertificatePanel(): JSX.Element {
    const found = useVerb("certificate show", [], { admin: "allowed" });
    const request = useChange("certificate request");
    const [open, setOpen] = useState<"install" | "own">();
    const [did, setDid] = useState<Outcome>();
    const [asked, setAsked] = useState<string>();
    const ask = async () => {
        const made = await request.go();
        if (made !== undefined) setAsked(made.pem);
    };
    const changed = (report: CertificateChange) => {
        setOpen(undefined);
        setAsked(undefined);
        setDid({ title: _("The certificate has been replaced."), lines: [], warnings: report.warnings });
        found.reload();
    };
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Certificate")} testId="certificate">
                <Loaded of={found} what={_("Loading certificate")}>
                    {(report) => (
                        <div className="mr-stack">
                            <Said report={report} />
                            <ErrorAlert error={request.error} />
                            {asked !== undefined && (
                                <>
                                    <p>{_("Have your CA sign this request, then install the certificate here. The private key stays on this server.")}</p>
                                    <CopyBlock label={_("Certificate signing request (CSR)")} text={asked} file="millrace.csr" />
                                </>
                            )}
                            <div className="mr-actions">
                                <AdminButton variant="secondary" onClick={() => setOpen("install")}>{_("Install a certificate…")}</AdminButton>
                                <AdminButton variant="secondary" isLoading={request.busy} isDisabled={request.busy}
                                    onClick={() => void ask()}>{_("Create a signing request")}</AdminButton>
                                {report.origin === "installed" && (
                                    <AdminButton variant="link" onClick={() => setOpen("own")}>{_("Return to own certificate…")}</AdminButton>
                                )}
                            </div>
                            {report.client_trust !== null && (
                                <details className="mr-details">
                                    <summary>{_("CA certificate for clients and browsers")}</summary>
                                    <CopyBlock label={_("CA certificate")} text={report.client_trust} file="millrace-ca.pem" />
                                </details>
                            )}
                        </div>
                    )}
                </Loaded>
            </Panel>
            {open === "install" && <CertificateDialog onDone={changed} onClose={() => setOpen(undefined)} />}
            {open === "own" && <BackToOwn onDone={changed} onClose={() => setOpen(undefined)} />}
        </>
    );
}

function Said({ report }: { report: CertificateReport }): JSX.Element {
    const { certificate: one, days_left: days } = report;
    const issuer = one.issuer.replace(/^CN=/, "");
    return (
        <dl className="mr-definitions">
            <dt>{_("Valid for")}</dt><dd>{[...one.names, ...one.addresses].join(", ")}</dd>
            <dt>{_("Issued by")}</dt>
            <dd>{report.origin === "own" ? format(_("this server's own CA ($0)"), issuer) : issuer}</dd>
            <dt>{_("Expires")}</dt><dd>{moment(one.not_after)} <HealthLabel level={levelOf(days)}>{daysWord(days)}</HealthLabel></dd>
            {report.origin === "own" && <>
                <dt>{_("Own CA expires")}</dt><dd>{moment(report.authority.not_after)}</dd>
            </>}
            {report.origin === "own" && report.succession !== null && report.succession !== undefined && <>
                <dt>{_("Next CA")}</dt>
                <dd>{format(_("takes over on $0; clients need it by then. The CA certificate below contains both."), moment(report.succession.takes_over))}</dd>
                {report.succession.waiting.length > 0 && <>
                    <dt>{_("Valid for, from then on")}</dt><dd>{report.succession.waiting.join(", ")}</dd>
                </>}
            </>}
            <dt>{_("Fingerprint (SHA-256)")}</dt><dd><code>{one.fingerprint}</code></dd>
        </dl>
    );
}

function BackToOwn({ onDone, onClose }: { onDone: (report: CertificateChange) => void; onClose: () => void }): JSX.Element {
    const renew = useChange("certificate renew");
    const confirm = async () => {
        const report = await renew.go(["--own"]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={_("Return to the server's own certificate?")} action={_("Create")} busy={renew.busy} error={renew.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <p>{_("Clients that trust only your CA must import the CA certificate of this server.")}</p>
            <p>{_("The web console restarts with the new certificate. Reconnect when this page prompts for it.")}</p>
        </ConfirmDialog>
    );
}
