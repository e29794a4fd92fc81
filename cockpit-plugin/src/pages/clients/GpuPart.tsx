// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { GpuSettings } from "../../types/millrace";
import { CopyBlock } from "../../components/CopyBlock";
import { DataTable } from "../../components/DataTable";
import { _, format } from "../../lib/i18n";
import { Options } from "./RecipeParts";

/** What a client with GPUs needs beside the mount, how the direct path is proved, and which versions break it. */
export function GpuPart({ gpu }: { gpu: GpuSettings }): JSX.Element {
    const exports = gpu.environment.map(({ option }) => `export ${option}\n`).join("");
    return (
        <div className="mr-stack">
            <Options label={_("Versions")} options={gpu.needs} />
            {gpu.merge.map(({ path, text }) => <CopyBlock key={path} label={format(_("Merge into $0"), path)} text={text} />)}
            {gpu.environment.length > 0 && (
                <>
                    <CopyBlock label={_("Environment of programs that use this mount")} text={exports} />
                    <Options label={_("Settings with reasons")} options={gpu.environment} />
                </>
            )}
            <CopyBlock label={_("Prove the direct path")} text={gpu.proof.map(({ option }) => `${option}\n`).join("")} />
            <Options label={_("Commands with reasons")} options={gpu.proof} />
            <DataTable label={_("Versions that do not work")} rows={gpu.traps} rowKey={({ id }) => id} columns={[
                { title: _("Date"), cell: ({ date }) => date },
                { title: _("Problem"), heads: true, cell: ({ problem }) => problem },
                { title: _("Fix"), cell: ({ fix }) => fix },
                { title: _("Source"), cell: ({ source }) => <span className="mr-subtle">{source}</span> },
            ]} />
        </div>
    );
}
