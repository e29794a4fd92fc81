// SPDX-License-Identifier: Apache-2.0
import type { LinkReport } from "../../types/millrace";
import { _, format } from "../../lib/i18n";

export const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** What a link is, in a few words. */
export function kindWord({ kind, vlan, parent, mode }: LinkReport): string {
    if (kind === "vlan") return vlan === null ? format(_("VLAN on $0"), parent ?? "") : format(_("VLAN $0 on $1"), vlan, parent ?? "");
    if (kind === "bond") return mode === "lacp" ? _("Bond (LACP)") : _("Bond (active-backup)");
    return _("Port");
}

/** Where its addresses come from. */
export function sourceWord({ decided, fixed, dhcp, part_of: bond }: LinkReport): string {
    if (bond !== null) return format(_("part of $0"), bond);
    if (!decided) return _("DHCP or credential");
    if (fixed.length === 0) return dhcp ? _("DHCP") : _("no address");
    return dhcp ? _("static and DHCP") : _("static");
}
