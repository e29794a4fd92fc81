// SPDX-License-Identifier: Apache-2.0
import { useRef, useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import CopyIcon from "@patternfly/react-icons/dist/esm/icons/copy-icon";
import DownloadIcon from "@patternfly/react-icons/dist/esm/icons/download-icon";
import { copy, download } from "../lib/download";
import { _, format } from "../lib/i18n";

/** Text to be taken along: copied, saved as `file`, or selected by hand. `label` tells it from the others on the page. */
export function CopyBlock({ text, label, file }: { text: string; label: string; file?: string }): JSX.Element {
    const [said, setSaid] = useState("");
    const shown = useRef<HTMLPreElement>(null);
    const take = async () => {
        if (await copy(text)) { setSaid(_("Copied")); return; }
        if (shown.current) window.getSelection()?.selectAllChildren(shown.current);
        setSaid(_("Selected: press Ctrl+C to copy"));
    };
    return (
        <div className="mr-copy" role="group" aria-label={label} data-testid="copy-block">
            <div className="mr-copy-bar">
                <span className="mr-copy-label">{label}</span>
                <span aria-live="polite" className="mr-copy-said">{said}</span>
                <Button variant="plain" size="sm" icon={<CopyIcon />} aria-label={format(_("Copy: $0"), label)} onClick={() => void take()} />
                {file !== undefined && (
                    <Button variant="plain" size="sm" icon={<DownloadIcon />} aria-label={format(_("Download: $0"), label)}
                        onClick={() => download(file, text)} />
                )}
            </div>
            {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- long lines scroll, also by keyboard */}
            <pre ref={shown} tabIndex={0} aria-label={label}>{text}</pre>
        </div>
    );
}
