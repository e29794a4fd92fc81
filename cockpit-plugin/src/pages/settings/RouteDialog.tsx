// SPDX-License-Identifier: Apache-2.0
/** A route for alerts. Password, URL and CA go to the program's standard input, never to its command line. */
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { ListedRoute } from "../../types/millrace";
import * as rules from "../../types/rules";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { PemField, pemProblem } from "../../components/PemField";
import { useChange } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import type { Rule } from "../../lib/rule";
import { kindName } from "./AlertsPanel";

type Kind = ListedRoute["kind"];
type Security = (typeof rules.MAIL_SECURITIES)[number];

const KINDS: readonly Kind[] = ["mail", "webhook", "syslog"];

function securityName(security: Security): string {
    switch (security) {
    case "starttls": return _("STARTTLS (port 587)");
    case "tls": return _("TLS (port 465)");
    case "none": return _("None (port 25)");
    }
}

/** Without STARTTLS, which syslog does not have. */
const SYSLOG_SECURITIES = rules.MAIL_SECURITIES.filter((one) => one !== "starttls");

function syslogSecurityName(security: Exclude<Security, "starttls">): string {
    switch (security) {
    case "tls": return _("TLS (port 6514)");
    case "none": return _("None (port 514)");
    }
}

const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** What is wrong with what was typed; a field that is empty is not wrong yet. */
const unlessEmpty = (text: string, rule: Rule) => (text === "" ? undefined : rule(text));

export function RouteDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }): JSX.Element {
    const [kind, setKind] = useState<Kind>("mail");
    const [name, setName] = useState("");
    const [daily, setDaily] = useState("");
    const [url, setUrl] = useState("");
    const [server, setServer] = useState("");
    const [security, setSecurity] = useState<Security>("starttls");
    const [sender, setSender] = useState("");
    const [recipients, setRecipients] = useState("");
    const [user, setUser] = useState("");
    const [password, setPassword] = useState("");
    const [pem, setPem] = useState("");
    const mail = useChange("alert route add mail");
    const webhook = useChange("alert route add webhook");
    const syslog = useChange("alert route add syslog");
    const add = { mail, webhook, syslog }[kind];
    // a syslog receiver has no STARTTLS
    const syslogSecurity = security === "starttls" ? "tls" : security;
    const encrypted = {
        mail: security !== "none",
        webhook: !url.startsWith("http:"),
        syslog: server !== "" && syslogSecurity !== "none",
    }[kind];
    const ca = encrypted ? pem : "";
    const problems = {
        name: unlessEmpty(name, rules.routeName),
        sender: unlessEmpty(sender, rules.mailAddress),
        recipients: list(recipients).map(rules.mailAddress).find((one) => one !== undefined),
        ca: pemProblem(ca),
    };
    const complete = {
        mail: server !== "" && sender !== "" && list(recipients).length > 0 && (user === "" || password !== ""),
        webhook: url !== "",
        syslog: true,
    }[kind];
    const good = name !== "" && complete && Object.values(problems).every((one) => one === undefined);
    const confirm = async () => {
        const trust = ca === "" ? [] : ["--ca=-"];
        const sign = daily === "" ? [] : [`--daily=${daily}`];
        const signIn = user === "" ? [] : [`--user=${user}`, "--password-stdin"];
        const words = {
            mail: [`--server=${server}`, `--security=${security}`, `--from=${sender}`, ...list(recipients).map((one) => `--to=${one}`), ...signIn],
            webhook: ["--url-stdin"],
            syslog: server === "" ? [] : [`--server=${server}`, `--security=${syslogSecurity}`],
        }[kind];
        const secret = { mail: user === "" ? "" : `${password}\n`, webhook: `${url}\n`, syslog: "" }[kind];
        if (await add.go([name, ...words, ...trust, ...sign], `${secret}${ca}`) !== undefined) onDone();
    };
    return (
        <ConfirmDialog title={_("Add a route for alerts")} action={_("Add")} ready={good} busy={add.busy} error={add.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <ChoiceField id="route-kind" label={_("Type")} value={kind} onChange={setKind}
                    options={KINDS.map((value) => ({ value, label: kindName(value) }))} />
                <TextField id="route-name" label={_("Name")} required value={name} onChange={setName} problem={problems.name} placeholder="ops" />
                {kind === "mail" && (
                    <>
                        <TextField id="route-server" label={_("Mail server")} required value={server} onChange={setServer} placeholder="smtp.example.com" />
                        <ChoiceField id="route-security" label={_("Encryption")} value={security} onChange={setSecurity}
                            options={rules.MAIL_SECURITIES.map((value) => ({ value, label: securityName(value) }))} />
                        <TextField id="route-sender" label={_("Sender")} required value={sender} onChange={setSender} problem={problems.sender}
                            placeholder="storage@example.com" />
                        <TextField id="route-recipients" label={_("Recipients")} required value={recipients} onChange={setRecipients}
                            problem={problems.recipients} help={_("Separate with spaces.")} />
                        <TextField id="route-user" label={_("User")} value={user} onChange={setUser} help={_("If empty, the server does not sign in.")} />
                        {user !== "" && (
                            <TextField id="route-password" type="password" label={_("Password")} required value={password} onChange={setPassword} />
                        )}
                    </>
                )}
                {kind === "syslog" && (
                    <>
                        <TextField id="route-server" label={_("Syslog receiver")} value={server} onChange={setServer} placeholder="log.example.com"
                            help={_("RFC 5424 by TCP. If empty, alerts go to the journal of this server, which can be forwarded.")} />
                        {server !== "" && (
                            <ChoiceField id="route-security" label={_("Encryption")} value={syslogSecurity} onChange={setSecurity}
                                options={SYSLOG_SECURITIES.map((value) => ({ value, label: syslogSecurityName(value) }))} />
                        )}
                    </>
                )}
                {kind === "webhook" && (
                    <TextField id="route-url" type="password" label={_("URL")} required value={url} onChange={setUrl}
                        help={_("Kept like a password and not shown again.")} />
                )}
                {encrypted && (
                    <PemField id="route-ca" label={_("CA certificate")} rows={3} value={pem} onChange={setPem}
                        help={_("Paste the private CA of the receiver, in PEM format. If empty, public CAs verify the receiver.")} />
                )}
                <TextField id="route-daily" label={_("Daily sign of life at")} value={daily} onChange={setDaily} placeholder="08:00"
                    help={_("Local time of the server. If empty, only problems are reported.")} />
            </Form>
        </ConfirmDialog>
    );
}
