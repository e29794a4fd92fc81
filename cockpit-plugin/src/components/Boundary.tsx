// SPDX-License-Identifier: Apache-2.0
import { Component, type ReactNode } from "react";
import { _ } from "../lib/i18n";
import { CliError } from "../lib/millrace";
import { NotLoaded } from "../lib/page";
import { ErrorState } from "./States";

/** A fault of the page itself, e.g. a document that is not what its schema says: an error state, never a blank page. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
    override state: { error: Error | undefined } = { error: undefined };

    static getDerivedStateFromError(error: Error): { error: Error } {
        return { error };
    }

    override render(): ReactNode {
        const { error } = this.state;
        if (error === undefined) return this.props.children;
        if (error instanceof NotLoaded) {
            const missing = new CliError("garbage", "millrace", _("This page could not be loaded."),
                _("The connection to the server may be interrupted, or the server has been updated: load the pages again."), error.message);
            return <ErrorState error={missing} retry={() => window.location.reload()} />;
        }
        const shown = new CliError("garbage", "millrace", _("This page cannot be displayed."),
            _("Try again. If the problem persists, report this page and the output of `journalctl -b -p warning`."), String(error.stack ?? error));
        return <ErrorState error={shown} retry={() => this.setState({ error: undefined })} />;
    }
}
