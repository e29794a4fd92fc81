// SPDX-License-Identifier: Apache-2.0
/** Hand `content` to the browser as a file; a blob passes Cockpit's content security policy. */
export function download(name: string, content: BlobPart, type = "text/plain"): void {
    const url = URL.createObjectURL(new Blob([content], { type }));
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = name;
    anchor.click();
    URL.revokeObjectURL(url);
}

/** Copy `text`; false where the browser does not allow it (then it can be selected by hand). */
export async function copy(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return false;
    }
}
