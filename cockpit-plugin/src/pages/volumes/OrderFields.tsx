// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { ChoiceField, TextField } from "../../components/Field";
import { _, format } from "../../lib/i18n";
import { VOLUME_TRANSPORTS } from "../../types/rules";
import { hostProblem, NO_HOST, secretProblem, type Host, type Order } from "./order";
import { transportWord } from "./words";

function HostFields({ order, index, disabled, onChange, onRemove }: {
    order: Order; index: number; disabled: boolean; onChange: (changed: Partial<Host>) => void; onRemove: () => void;
}): JSX.Element {
    const { nqn, secret } = order.hosts[index] ?? NO_HOST;
    const id = `host-${index}`;
    return (
        <fieldset className="mr-fieldset">
            <legend>{format(_("Host $0"), index + 1)}</legend>
            <TextField id={id} label={_("NQN of the host")} required value={nqn} disabled={disabled}
                onChange={(text) => onChange({ nqn: text.trim() })} problem={hostProblem(order.hosts, index)}
                help={_("On a Linux host it is in /etc/nvme/hostnqn.")} />
            {order.authenticated && (
                <TextField id={`${id}-secret`} type="password" label={_("DH-HMAC-CHAP secret")} required value={secret} disabled={disabled}
                    onChange={(text) => onChange({ secret: text.trim() })} problem={secretProblem(secret)}
                    help={_("As nvme gen-dhchap-key prints it on the host. It is not shown again.")} />
            )}
            {order.hosts.length > 1 && (
                <Button variant="link" isInline isDanger isDisabled={disabled} aria-label={format(_("Remove host $0"), index + 1)}
                    onClick={onRemove}>{_("Remove")}</Button>
            )}
        </fieldset>
    );
}

/** Transport, hosts and secrets of an export; `kept`: its hosts have secrets already. */
export function OrderFields({ order, onChange, disabled, kept = false }: {
    order: Order; onChange: (order: Order) => void; disabled: boolean; kept?: boolean;
}): JSX.Element {
    const set = (changed: Partial<Order>) => onChange({ ...order, ...changed });
    const { hosts } = order;
    return (
        <>
            <ChoiceField id="transport" label={_("Transport")} value={order.transport} disabled={disabled} onChange={(transport) => set({ transport })}
                help={_("The connection is not encrypted: use a network of its own.")}
                options={VOLUME_TRANSPORTS.map((value) => ({ value, label: transportWord(value) }))} />
            <Checkbox id="dhchap" label={_("Authenticate hosts with DH-HMAC-CHAP")} isChecked={order.authenticated} isDisabled={disabled}
                description={kept ? _("Not selected: hosts that have a secret keep it.") : _("Not selected: a host is known by its NQN alone, which is no proof.")}
                onChange={(_event, authenticated) => set({ authenticated })} />
            <Checkbox id="shared" label={_("Several hosts write it")} isChecked={order.shared} isDisabled={disabled}
                description={_("Only for cluster software that uses NVMe reservations: two hosts that write an ordinary file system destroy it.")}
                onChange={(_event, shared) => set({ shared, hosts: shared ? hosts : hosts.slice(0, 1) })} />
            {hosts.map((_host, index) => (
                <HostFields key={index} order={order} index={index} disabled={disabled}
                    onChange={(changed) => set({ hosts: hosts.map((one, at) => (at === index ? { ...one, ...changed } : one)) })}
                    onRemove={() => set({ hosts: hosts.filter((_one, at) => at !== index) })} />
            ))}
            <TextField id="addresses" label={_("Addresses of the hosts")} required value={order.addresses} disabled={disabled}
                onChange={(addresses) => set({ addresses })}
                help={_("Addresses or networks, inside the client networks. No other reaches the volume.")} />
            {order.shared && (
                <Button variant="secondary" className="mr-start" isDisabled={disabled}
                    onClick={() => set({ hosts: [...hosts, NO_HOST] })}>{_("Add host")}</Button>
            )}
        </>
    );
}
