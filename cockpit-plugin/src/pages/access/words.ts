// SPDX-License-Identifier: Apache-2.0
import type { Outputs } from "../../types/outputs";
import { _ } from "../../lib/i18n";
import type { Role } from "../../lib/permission";

export type Person = Outputs["access list"]["people"][number];

export const roleWord = (role: Role): string => ({
    administrator: _("Administrator"), operator: _("Operator"), viewer: _("Viewer"),
}[role]);

/** What each role may do, for the one who chooses. */
export const roleMeaning = (role: Role): string => ({
    administrator: _("Everything, also on the command line as root and over ssh."),
    operator: _("Drives, checks and updates; sees everything but secrets."),
    viewer: _("Sees everything but secrets and changes nothing."),
}[role]);

export const roles: readonly Role[] = ["administrator", "operator", "viewer"];
