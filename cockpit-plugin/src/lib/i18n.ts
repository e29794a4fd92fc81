// SPDX-License-Identifier: Apache-2.0
/** Words for a person. Every text of the pages is an argument of _ or ngettext; scripts/pot.mjs finds them there. */

/** The translation of `text`, or of `text` where it means what a context says: _("context", "text"). */
export function _(textOrContext: string, text?: string): string {
    return text === undefined ? cockpit.gettext(textOrContext) : cockpit.gettext(textOrContext, text);
}

export function ngettext(one: string, many: string, n: number): string {
    return cockpit.ngettext(one, many, n);
}

/** `template` with $0, $1 … replaced; sentences are never put together from pieces. */
export function format(template: string, ...values: (string | number)[]): string {
    return cockpit.format(template, ...values);
}

export function locale(): string {
    return cockpit.language.replace("_", "-") || "en";
}
