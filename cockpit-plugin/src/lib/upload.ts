// SPDX-License-Identifier: Apache-2.0
/** A file of the browser as the standard input of a verb that reports in JSON lines how much has arrived. */
import { _, format } from "./i18n";
import { CliError, failure, parsed, type Verb } from "./millrace";
import { lines, PROGRAM, startedForBytes } from "./program";
import type { Outputs } from "../types/outputs";

/** Bytes of one message. */
const PIECE = 1 << 20;
/** Bytes on the way at most: what the server has not reported yet waits in the memory of the browser or of the server. */
const WINDOW = 8 << 20;

/** The lines that report progress have what has arrived, in bytes. */
type UploadVerb = { [V in Verb]: Outputs[V] extends { received: number } ? V : never }[Verb];

/**
 * Send `file` to `millrace VERB ARGS --json` as root; `on` gets each of its lines. Rejects with CliError, also where `signal`
 * stops it: the program removes then what arrived.
 */
export function upload<V extends UploadVerb>(
    of: V, args: string[], file: Blob, on: (line: Outputs[V]) => void, signal: AbortSignal,
): Promise<void> {
    const verb = `${PROGRAM} ${of}`;
    return new Promise((resolve, reject) => {
        const process = startedForBytes([...of.split(" "), ...args, "--json"], true);
        const decoder = new TextDecoder();
        let [text, sent, arrived, sending, over] = ["", 0, 0, false, false];
        const fail = (error: CliError) => { if (!over) { over = true; process.close("cancelled"); reject(error); } };
        const stopped = () => fail(new CliError("died", verb, _("The upload was stopped."), ""));
        const unreadable = () => fail(new CliError("died", verb, _("The file on this computer cannot be read."), _("Choose it again.")));
        const send = async () => {
            if (sending) return;
            sending = true;
            while (!over && sent < file.size && sent - arrived < WINDOW) {
                const piece = new Uint8Array(await file.slice(sent, sent + PIECE).arrayBuffer());
                sent += piece.length;
                if (piece.length === 0) { unreadable(); return; }
                if (!over) process.input(piece, sent < file.size);
            }
            sending = false;
        };
        process.stream((bytes) => {
            text += decoder.decode(bytes, { stream: true });
            text = text.slice(lines(text, (line) => {
                if (over) return;
                try {
                    const said = parsed<Outputs[V]>(verb, line, 1);
                    arrived = said.received;
                    on(said);
                } catch (error) {
                    fail(error as CliError);
                }
            }));
            void send().catch(unreadable);
            return bytes.length;
        });
        process.then(() => {
            signal.removeEventListener("abort", stopped);
            if (over) return;
            over = true;
            if (text.trim()) reject(new CliError("garbage", verb, format(_("The output of `$0` is truncated."), verb), "")); else resolve();
        }, (error) => {
            signal.removeEventListener("abort", stopped);
            if (!over) { over = true; reject(failure(verb, error)); }
        });
        signal.addEventListener("abort", stopped, { once: true });
        void send().catch(unreadable);
    });
}
