// SPDX-License-Identifier: Apache-2.0
/** `millrace status` for the whole page: the same document says what Overview says and colours Cockpit's menu. */
import { createContext, useContext, useEffect, type JSX, type ReactNode } from "react";
import type { Outputs } from "../types/outputs";
import { asLevel, type Level } from "../components/Health";
import { useVerb, type Result } from "./hooks";
import { _ } from "./i18n";

const EVERY = 5;
/** The badge in the menu is seen while another page of Cockpit is open. */
const EVERY_HIDDEN = 30;

type StatusResult = Result<Outputs["status"]>;
const Context = createContext<StatusResult | undefined>(undefined);

/** What is known now: after a failure to ask, nothing is. */
export function levelOf(status: StatusResult): Level {
    return status.error === undefined && status.data !== undefined ? asLevel(status.data.health.level) : "UNKNOWN";
}

const BADGES: Record<Level, "warning" | "error" | null> = { OK: null, WARN: "warning", UNKNOWN: "warning", FAIL: "error" };

/** What Cockpit's menu says; null for nothing to say. */
function badge(status: StatusResult): { type: "warning" | "error"; title: string } | null {
    const level = levelOf(status);
    const type = BADGES[level];
    const worst = status.data?.health.findings.find((one) => one.level === level);
    return type && { type, title: status.error?.message ?? worst?.sentence ?? _("The health of this server is unknown.") };
}

function notify(status: StatusResult): void {
    if (status.data === undefined && status.error === undefined) return;
    let page_status: ReturnType<typeof badge>;
    try {
        page_status = badge(status);
    } catch {
        // A document that is not what its schema says: the page that shows it says so, the others must go on.
        page_status = { type: "warning", title: _("The health of this server is unknown.") };
    }
    cockpit.transport.control("notify", { page_status });
}

export function StatusProvider({ children }: { children: ReactNode }): JSX.Element {
    const status = useVerb("status", [], { admin: "allowed", every: EVERY, everyHidden: EVERY_HIDDEN });
    useEffect(() => notify(status), [status]);
    return <Context.Provider value={status}>{children}</Context.Provider>;
}

export function useStatus(): StatusResult {
    const status = useContext(Context);
    if (status === undefined) throw new Error("useStatus outside of StatusProvider");
    return status;
}
