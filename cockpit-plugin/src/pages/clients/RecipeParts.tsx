// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { ToggleGroup, ToggleGroupItem } from "@patternfly/react-core/dist/esm/components/ToggleGroup/index.js";
import type { RecipeChoice as Option, ClientFile, ClientSystem, Recipe } from "../../types/millrace";
import { CopyBlock } from "../../components/CopyBlock";
import { DataTable } from "../../components/DataTable";
import { _, format } from "../../lib/i18n";

type Way = "fstab" | "units" | "commands";

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

function Files({ files }: { files: ClientFile[] }): JSX.Element {
    return (
        <>
            {files.map(({ path, mode, text }) => (
                <CopyBlock key={path} label={format(_("$0 (mode $1)"), path, mode)} text={text} file={baseName(path)} />
            ))}
        </>
    );
}

/** What is done on the client, in order, with one of three ways to mount. */
export function Steps({ recipe }: { recipe: Recipe }): JSX.Element {
    const [way, setWay] = useState<Way>("fstab");
    const ways: [Way, string][] = [
        ["fstab", _("fstab lines")],
        ["units", _("systemd units")],
        ["commands", _("Until the next boot")],
    ];
    return (
        <div className="mr-stack">
            <ToggleGroup aria-label={_("Mount method")} className="mr-start">
                {ways.map(([one, word]) => (
                    <ToggleGroupItem key={one} buttonId={`way-${one}`} text={word} isSelected={way === one} onChange={() => setWay(one)} />
                ))}
            </ToggleGroup>
            {recipe.files.length > 0 && <p>{_("First create these files on the client:")}</p>}
            <Files files={recipe.files} />
            {recipe.prepare.length > 0 && (
                <CopyBlock label={_("Run as root after creating the files")} text={`${recipe.prepare.join("\n")}\n`} />
            )}
            {way === "fstab" && (
                <>
                    <CopyBlock label={_("Append to /etc/fstab")} text={`${recipe.fstab.join("\n")}\n`} file={`fstab-${recipe.share}`} />
                    <CopyBlock label={_("Then run as root")} text={`${recipe.fstab_commands.join("\n")}\n`} />
                </>
            )}
            {way === "units" && (
                <>
                    <Files files={recipe.units} />
                    <CopyBlock label={_("Then run as root")} text={`${recipe.unit_commands.join("\n")}\n`} />
                </>
            )}
            {way === "commands" && <CopyBlock label={_("Run as root")} text={`${recipe.commands.join("\n")}\n`} />}
            {recipe.zone !== null && (
                <CopyBlock label={_("DNS records: one name with all addresses")} text={recipe.zone} file={`${recipe.share}.zone`} />
            )}
        </div>
    );
}

function stepWord(system: ClientSystem["name"], kind: ClientSystem["steps"][number]["kind"]): string {
    switch (kind) {
    case "path": return system === "windows" ? _("Windows: address bar of the Explorer") : _("macOS: Finder, Go, Connect to Server (Command-K)");
    case "command": return system === "windows" ? _("Windows: PowerShell, not elevated; Windows 10 or Server 2016 at least") : _("macOS: Terminal");
    case "check": return system === "windows" ? _("Windows: check in an elevated PowerShell; Dialect is 3.1.1, Signed or Encrypted is True")
        : _("macOS: check in the Terminal; SMB_VERSION is SMB_3.1.1");
    }
}

/** How Windows and macOS open the share; each step asks for the password. */
export function Systems({ systems }: { systems: ClientSystem[] }): JSX.Element {
    return (
        <div className="mr-stack">
            <p>{_("One of the first two steps of a system opens the share; each asks for the password.")}</p>
            {systems.flatMap(({ name, steps }) => steps.map(({ kind, text }) =>
                <CopyBlock key={`${name} ${kind}`} label={stepWord(name, kind)} text={`${text}\n`} />))}
        </div>
    );
}

export function Options({ label, options }: { label: string; options: Option[] }): JSX.Element {
    return (
        <DataTable label={label} rows={options} rowKey={({ option }) => option} columns={[
            { title: _("Option"), heads: true, cell: ({ option }) => <code>{option}</code> },
            { title: _("Reason"), cell: ({ reason }) => reason },
            { title: _("Source"), cell: ({ source }) => <span className="mr-subtle">{source}</span> },
        ]} />
    );
}

/** Why each option is there, and why others are not. */
export function Reasons({ recipe }: { recipe: Recipe }): JSX.Element {
    return (
        <div className="mr-stack">
            <Options label={_("Mount options with reasons")} options={recipe.options} />
            {recipe.left_out.length > 0 && (
                <details className="mr-details">
                    <summary>{_("Skipped, with reason")}</summary>
                    <Options label={_("Skipped, with reason")} options={recipe.left_out} />
                </details>
            )}
        </div>
    );
}

export function Notes({ recipe }: { recipe: Recipe }): JSX.Element {
    return (
        <ul className="mr-notes">
            {recipe.notes.map(({ text, source }) => <li key={text}>{text} <span className="mr-subtle mr-small">{source}</span></li>)}
        </ul>
    );
}
