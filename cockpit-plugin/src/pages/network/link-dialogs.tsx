// SPDX-License-Identifier: Apache-2.0
/** Settings of one link, and links that are made and removed. What is typed is verified by the program. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form, FormGroup } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { LinkReport, NetworkChange } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";
import * as rules from "../../types/rules";
import { list } from "./words";

export interface Ends {
    onDone: (change: NetworkChange) => void;
    onClose: () => void;
}

type Source = "static" | "dhcp" | "none";

/** What is typed of a link. */
interface Typed { source: Source; addresses: string; gateway: string; mtu: string }

const number = (text: string, what: string) => (/^[0-9]*$/.test(text) ? undefined : format(_("$0 is a number"), what));

function problems({ gateway, mtu }: Typed) {
    return { gateway: gateway === "" ? undefined : rules.hostAddress(gateway), mtu: number(mtu, _("An MTU")) };
}

/** Complete enough for the program to look at it. */
function isReady(typed: Typed): boolean {
    return Object.values(problems(typed)).every((one) => one === undefined) && (typed.source !== "static" || list(typed.addresses).length > 0);
}

function addressing({ source, addresses, gateway }: Typed): string[] {
    if (source === "dhcp") return ["--dhcp"];
    if (source === "none") return [];
    return [...list(addresses).map((one) => `--address=${one}`), ...(gateway === "" ? [] : [`--gateway=${gateway}`])];
}

function LinkFields({ typed, onChange, none }: { typed: Typed; onChange: (typed: Typed) => void; none?: string }): JSX.Element {
    const said = problems(typed);
    const sources: { value: Source; label: string }[] = [
        { value: "static", label: _("Static addresses") }, { value: "dhcp", label: _("DHCP") },
        ...(none === undefined ? [] : [{ value: "none" as const, label: none }]),
    ];
    return (
        <>
            <ChoiceField id="link-source" label={_("Addresses from")} value={typed.source} options={sources} onChange={(source) => onChange({ ...typed, source })} />
            {typed.source === "static" && (
                <>
                    <TextField id="link-addresses" label={_("Addresses")} required value={typed.addresses} placeholder="10.1.0.11/24"
                        onChange={(addresses) => onChange({ ...typed, addresses })} help={_("With the length of the network. Separate several with spaces.")} />
                    <TextField id="link-gateway" label={_("Default gateway")} value={typed.gateway} problem={said.gateway}
                        onChange={(gateway) => onChange({ ...typed, gateway })} />
                </>
            )}
            <TextField id="link-mtu" label={_("MTU")} value={typed.mtu} problem={said.mtu} placeholder={_("that of the driver")}
                onChange={(mtu) => onChange({ ...typed, mtu })} help={_("In bytes; every switch and client in this network needs the same, such as 1500 or 9000.")} />
        </>
    );
}

function Minute(): JSX.Element {
    return <p>{_("The change is tried at once. It is rolled back after a minute, unless you confirm it on this page.")}</p>;
}

export function LinkDialog({ link, onDone, onClose }: Ends & { link: LinkReport }): JSX.Element {
    const before: Typed = {
        source: link.fixed.length > 0 ? "static" : !link.decided || link.dhcp ? "dhcp" : "none",
        addresses: link.fixed.join(" "), gateway: link.gateway ?? "", mtu: link.wanted_mtu === null ? "" : String(link.wanted_mtu),
    };
    const [typed, setTyped] = useState(before);
    const [management, setManagement] = useState(link.management);
    const change = useChange("network set", { timeout: CHANGE_SECONDS });
    const moved = typed.source !== before.source || typed.addresses !== before.addresses || typed.gateway !== before.gateway;
    // A port that has DHCP beside its addresses keeps it.
    const both = link.fixed.length > 0 && link.dhcp && typed.source === "static";
    const words = [
        ...(moved ? [...addressing(typed), ...(both ? ["--dhcp"] : [])] : []),
        ...(typed.mtu === before.mtu ? [] : [`--mtu=${typed.mtu || "0"}`]),
        ...(management === link.management ? [] : [management ? "--management" : "--no-management"]),
    ];
    const confirm = async () => {
        const report = await change.go([link.name, ...words]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={format(_("Change $0"), link.name)} action={_("Apply")} ready={isReady(typed) && words.length > 0}
            busy={change.busy} error={change.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <LinkFields typed={typed} onChange={setTyped} {...(before.source === "none" && { none: _("No address") })} />
                {link.kind === "port" && (
                    <Checkbox id="link-management" label={_("For the web console only")} isChecked={management}
                        description={_("No client is served there, and its networks are never proposed for NFS.")}
                        onChange={(_event, checked) => setManagement(checked)} />
                )}
                <Minute />
            </Form>
        </ConfirmDialog>
    );
}

const NEW: Typed = { source: "static", addresses: "", gateway: "", mtu: "" };

export function VlanDialog({ links, onDone, onClose }: Ends & { links: LinkReport[] }): JSX.Element {
    const parents = links.filter(({ kind, part_of: bond }) => kind !== "vlan" && bond === null);
    const [parent, setParent] = useState(parents.find(({ management }) => !management)?.name ?? parents[0]?.name ?? "");
    const [id, setId] = useState("");
    const [typed, setTyped] = useState(NEW);
    const create = useChange("network vlan", { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        const mtu = typed.mtu === "" ? [] : [`--mtu=${typed.mtu}`];
        const report = await create.go([parent, id, ...addressing(typed), ...mtu]);
        if (report !== undefined) onDone(report);
    };
    const problem = number(id, _("A VLAN ID"));
    return (
        <ConfirmDialog title={_("Add a VLAN")} action={_("Add")} ready={id !== "" && problem === undefined && isReady(typed)}
            busy={create.busy} error={create.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <ChoiceField id="vlan-parent" label={_("On")} value={parent} onChange={setParent}
                    options={parents.map(({ name }) => ({ value: name, label: name }))} help={_("A larger MTU of the VLAN is set there, too.")} />
                <TextField id="vlan-id" label={_("VLAN ID")} required value={id} onChange={setId} problem={problem} placeholder="100" help={_("1 to 4094")} />
                <LinkFields typed={typed} onChange={setTyped} none={_("No address")} />
                <Minute />
            </Form>
        </ConfirmDialog>
    );
}

export function BondDialog({ links, onDone, onClose }: Ends & { links: LinkReport[] }): JSX.Element {
    const ports = links.filter(({ kind, part_of: bond, management }) => kind === "port" && bond === null && !management);
    const [name, setName] = useState("bond0");
    const [mode, setMode] = useState<"lacp" | "active-backup">("lacp");
    const [members, setMembers] = useState<string[]>([]);
    const [typed, setTyped] = useState<Typed>({ ...NEW, source: "none" });
    const create = useChange("network bond", { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        const mtu = typed.mtu === "" ? [] : [`--mtu=${typed.mtu}`];
        const report = await create.go([name, ...members, `--mode=${mode}`, ...addressing(typed), ...mtu]);
        if (report !== undefined) onDone(report);
    };
    const toggle = (port: string, checked: boolean) => setMembers((before) => (checked ? [...before, port] : before.filter((one) => one !== port)));
    return (
        <ConfirmDialog title={_("Add a bond")} action={_("Add")} ready={name !== "" && members.length > 0 && isReady(typed)}
            busy={create.busy} error={create.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="bond-name" label={_("Name")} required value={name} onChange={setName} />
                <ChoiceField id="bond-mode" label={_("Mode")} value={mode} onChange={setMode}
                    options={[{ value: "lacp", label: _("LACP (IEEE 802.1AX)") }, { value: "active-backup", label: _("Active-backup") }]}
                    help={mode === "lacp" ? _("The switch needs LACP on these ports; a bond without its answer is rolled back.") : _("One port at a time carries data; the switch needs nothing.")} />
                <FormGroup role="group" label={_("Ports of the bond")} isRequired>
                    {ports.map(({ name: port, addresses }) => (
                        <Checkbox key={port} id={`bond-${port}`} label={port} description={addresses.join(", ")} isChecked={members.includes(port)}
                            onChange={(_event, checked) => toggle(port, checked)} />
                    ))}
                </FormGroup>
                <LinkFields typed={typed} onChange={setTyped} none={_("Those of its ports")} />
                <Minute />
            </Form>
        </ConfirmDialog>
    );
}

export function RemoveDialog({ link, onDone, onClose }: Ends & { link: LinkReport }): JSX.Element {
    const remove = useChange("network remove", { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        const report = await remove.go([link.name]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog danger title={format(_("Remove $0?"), link.name)} action={_("Remove")} busy={remove.busy} error={remove.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <p>{link.kind === "bond"
                ? _("Its addresses go away, and its ports ask for an address by DHCP.")
                : _("Its addresses go away; clients that use them lose their mounts.")}</p>
            <Minute />
        </ConfirmDialog>
    );
}
