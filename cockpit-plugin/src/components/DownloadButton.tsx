// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX, type ReactNode } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import DownloadIcon from "@patternfly/react-icons/dist/esm/icons/download-icon";
import { download } from "../lib/download";
import { fetchFile, type CliError } from "../lib/millrace";
import { ErrorAlert } from "./States";

/** Saves what the program writes to its standard output as `file`. */
export function DownloadButton({ words, file, type, variant = "secondary", admin = false, children }: {
    words: string[]; file: string; type: string; variant?: "primary" | "secondary" | "link"; admin?: boolean; children: ReactNode;
}): JSX.Element {
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<CliError>();
    const take = async () => {
        setBusy(true);
        setError(undefined);
        try {
            download(file, await fetchFile(words, { admin }), type);
        } catch (failed) {
            setError(failed as CliError);
        }
        setBusy(false);
    };
    return (
        <>
            <Button variant={variant} icon={<DownloadIcon />} isLoading={busy} isDisabled={busy} onClick={() => void take()}>{children}</Button>
            <ErrorAlert error={error} retry={() => void take()} />
        </>
    );
}
