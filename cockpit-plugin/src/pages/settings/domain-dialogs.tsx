// SPDX-License-Identifier: Apache-2.0
/** Joining and leaving a domain. The password goes to the program's standard input, never to its command line. */
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { Domain, MembershipChange } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import type { Rule } from "../../lib/rule";
import * as rules from "../../types/rules";

/** Seconds: it looks before, joins, and looks whether it holds. */
const CHANGE_SECONDS = 600;

interface Ends {
    onDone: (report: MembershipChange) => void;
    onClose: () => void;
}

const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** What is wrong with what was typed; a field that is empty is not wrong yet. */
const unlessEmpty = (text: string, rule: Rule) => (text === "" ? undefined : rule(text));

export function JoinDialog({ onDone, onClose }: Ends): JSX.Element {
    const [realm, setRealm] = useState("");
    const [account, setAccount] = useState("Administrator");
    const [password, setPassword] = useState("");
    const [dns, setDns] = useState("");
    const [unit, setUnit] = useState("");
    const join = useChange("domain join", { timeout: CHANGE_SECONDS });
    const problems = {
        realm: unlessEmpty(realm, rules.realm),
        account: unlessEmpty(account, rules.joiningAccount),
        dns: list(dns).map(rules.hostAddress).find((one) => one !== undefined),
        unit: unlessEmpty(unit, rules.organisationalUnit),
    };
    const good = realm !== "" && account !== "" && password !== "" && Object.values(problems).every((one) => one === undefined);
    const confirm = async () => {
        const options = [...list(dns).map((one) => `--dns=${one}`), ...(unit === "" ? [] : [`--ou=${unit}`]), "--password-stdin"];
        const report = await join.go([realm, account, ...options], `${password}\n`);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={_("Join a domain")} action={_("Join")} ready={good}
            busy={join.busy} error={join.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="realm" label={_("Domain")} required value={realm} onChange={setRealm} problem={problems.realm} placeholder="ad.example.com" />
                <TextField id="account" label={_("Account with permission to join")} required value={account} onChange={setAccount} problem={problems.account} />
                <TextField id="domain-password" type="password" label={_("Account password")} required value={password} onChange={setPassword}
                    help={_("Used once and not stored.")} />
                <TextField id="dns" label={_("DNS servers of the domain")} value={dns} onChange={setDns} problem={problems.dns}
                    placeholder={_("from the network configuration")} help={_("Used only for names in the domain. Separate with spaces.")} />
                <TextField id="unit" label={_("Organisational unit")} value={unit} onChange={setUnit} problem={problems.unit} placeholder="Servers/Storage" />
                <p>{_("The domain is checked first; a join that cannot be verified is rolled back. This takes one to two minutes.")}</p>
            </Form>
        </ConfirmDialog>
    );
}

export function LeaveDialog({ domain, onDone, onClose }: Ends & { domain: Domain }): JSX.Element {
    const [account, setAccount] = useState("");
    const [password, setPassword] = useState("");
    const leave = useChange("domain leave", { timeout: CHANGE_SECONDS });
    const problem = unlessEmpty(account, rules.joiningAccount);
    const confirm = async () => {
        const report = await (account === "" ? leave.go() : leave.go([account, "--password-stdin"], `${password}\n`));
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog danger title={format(_("Leave the domain $0?"), domain.realm)} action={_("Leave")} ready={account === "" || (password !== "" && problem === undefined)}
            busy={leave.busy} error={leave.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <p>{_("Domain users and groups lose access to the shares; files keep their numeric owners.")}</p>
                <TextField id="account" label={_("Account with permission to delete the machine account")} value={account} onChange={setAccount} problem={problem}
                    help={_("If empty, the machine account stays in the domain.")} />
                {account !== "" && (
                    <TextField id="domain-password" type="password" label={_("Account password")} required value={password} onChange={setPassword} />
                )}
            </Form>
        </ConfirmDialog>
    );
}
