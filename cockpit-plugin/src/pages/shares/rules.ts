// SPDX-License-Identifier: Apache-2.0
/**
 * What may be typed, in the words of the command line: tools/millrace/system/names.py has the same rules, and
 * test/golden/rules.json is asked of both. Each function returns the sentence for the person, or null.
 */
import { address, network as parsed, printed } from "../../lib/ip";
import { _, format } from "../../lib/i18n";

const RESERVED = ["global", "homes", "printers", "ipc", "admin", "print", "netlogon", "sysvol", "profiles"];
const SHARE = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const ACCOUNT = /^[a-z][a-z0-9_-]{0,30}$/;
const DOMAIN_ACCOUNT = /^[A-Za-z0-9.-]{1,63}\\[A-Za-z0-9_][A-Za-z0-9 _.@$-]{0,63}$/;
const NETGROUP = /^@[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;
const HOST = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
const SIZE = /^(\d{1,15})([KMGTP]?)(?:i?B)?$/i;
const UNITS = ["", "K", "M", "G", "T", "P"];
const COMMENT_LENGTH = 200;
const PASSWORD_SHORTEST = 12;
const PASSWORD_LONGEST = 200;
const SMALLEST_LIMIT = 1 << 20;
const SHORTEST = { 4: 8, 6: 16 } as const;

export type Sentence = string | null;

export function shareName(text: string): Sentence {
    if (!SHARE.test(text))
        return format(
            _("$0 cannot be the name of a share: use 1 to 64 of a-z, 0-9, - and _, first a letter or a digit"), shown(text));
    if (RESERVED.includes(text))
        return format(_("$0 cannot be the name of a share: it means something else to SMB"), shown(text));
    return null;
}

export function accountName(text: string): Sentence {
    if (ACCOUNT.test(text)) return null;
    return format(
        _("$0 cannot be the name of a user or group: use 1 to 31 of a-z, 0-9, - and _, first a letter"), shown(text));
}

/** Somebody of this server, or of a domain: DOMAIN\\name. The program asks the domain whether there is such a one. */
export function anyAccount(text: string): Sentence {
    if (!text.includes("\\")) return accountName(text);
    return DOMAIN_ACCOUNT.test(text) ? null : format(_("$0 is not an account of a domain: write it like DOMAIN\\name"), shown(text));
}

export function comment(text: string): Sentence {
    const length = [...text].length;
    if (length > COMMENT_LENGTH)
        return format(_("a comment has at most $0 characters, this one has $1"), COMMENT_LENGTH, length);
    if (!printable(text) || text !== text.trim())
        return _("a comment is one line of printable characters without blanks at its ends");
    if (/[\\%]/.test(text))
        return _("a comment cannot hold a backslash or a percent sign: Samba would read them as commands");
    return null;
}

export function network(text: string): Sentence {
    if (text === "*") return everybody(text);
    const found = parsed(text);
    if (found?.exact) {
        if (found.prefix === 0) return everybody(text);
        if (found.prefix >= SHORTEST[found.version]) return null;
        return format(
            _("$0 is too large: a client network is /$1 or longer"), shown(text), SHORTEST[found.version]);
    }
    if (found)
        return format(_("$0 is an address inside a network: did you mean $1?"), shown(text), printed(found));
    return format(_("$0 is not a network: write it like 10.0.0.0/24 or fd00:1::/64"), shown(text));
}

function everybody(text: string): Sentence {
    return format(_("$0 is everybody: name the networks of your clients"), shown(text));
}

export function client(text: string): Sentence {
    if (text.includes("/") || text === "*") return network(text);
    if (text.startsWith("@"))
        return NETGROUP.test(text) ? null : format(_("$0 is not the name of a netgroup"), shown(text));
    if (address(text) !== null) return null;
    // All digits at the end would be an address that is none.
    if (HOST.test(text) && !/(^|\.)\d+$/.test(text)) return null;
    return format(
        _("$0 is not a client: give a network (10.0.0.0/24), an address, a host name or an @netgroup, and the options apart from it"),
        shown(text));
}

/** Bytes of `500G` or `10T` (powers of 1024); null for `none` or nothing; undefined where it is no size. */
export function bytesOf(text: string): number | null | undefined {
    if (text === "" || text === "none") return null;
    const match = SIZE.exec(text);
    if (!match) return undefined;
    return Number(match[1]) * 1024 ** UNITS.indexOf((match[2] ?? "").toUpperCase());
}

export function size(text: string): Sentence {
    const bytes = bytesOf(text);
    if (bytes === undefined) return format(_("$0 is not a size: write it like 500G or 10T, or none"), shown(text));
    return bytes !== null && bytes < SMALLEST_LIMIT ? _("a limit is 1 MiB at least: write it like 500G or 10T") : null;
}

/** Whether it is easy to guess is for the program to say: it has the dictionary. */
export function password(text: string): Sentence {
    const length = [...text].length;
    if (length >= PASSWORD_SHORTEST && length <= PASSWORD_LONGEST && printable(text)) return null;
    return format(_("a password is one line of $0 to $1 printable characters"), PASSWORD_SHORTEST, PASSWORD_LONGEST);
}

/** What a person typed, fit for one line of an error; escapes as Python's unicode_escape writes them. */
export function shown(text: string): string {
    const characters = [...text];
    const escaped = characters.slice(0, 40).map((one) => {
        const code = one.codePointAt(0) ?? 0;
        if (one === "\\") return "\\\\";
        if (one === "\n") return "\\n";
        if (one === "\r") return "\\r";
        if (one === "\t") return "\\t";
        if (code >= 32 && code < 127) return one;
        const hexadecimal = code.toString(16);
        if (code < 256) return `\\x${hexadecimal.padStart(2, "0")}`;
        return code < 0x10000 ? `\\u${hexadecimal.padStart(4, "0")}` : `\\U${hexadecimal.padStart(8, "0")}`;
    });
    return `'${escaped.join("")}${characters.length > 40 ? "…" : ""}'`;
}

/** As str.isprintable: no control, format, surrogate, private or unassigned character, no separator but the blank. */
function printable(text: string): boolean {
    return !/[\p{C}\p{Z}]/u.test(text.replaceAll(" ", ""));
}
