// SPDX-License-Identifier: Apache-2.0
/** A job of the server: found, followed, cancelled, and its end. */
import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { JSX } from "react";
import { beforeEach, expect, test } from "vitest";
import { JobView } from "../../src/components/JobView";
import { useJob } from "../../src/lib/jobs";
import { StatusProvider } from "../../src/lib/status";
import type { CurrentJob, JobStatus } from "../../src/types/millrace";
import { jobOf, lineOf } from "../jobs";
import { does, refuses, says, setAdmin, setHidden, started, type Call } from "../mocks/cockpit";

const STATUS = { schema_version: 1, health: { level: "OK", findings: [] }, pool: {}, space: null, shares: [], jobs: [] as CurrentJob[] };
const ERASE = jobOf("erase", { cancellable: false, why: "an erasure is not cancelled" });

function Shown(): JSX.Element {
    const { now, ended } = useJob("erase");
    return (
        <>
            <p data-testid="now">{now === undefined ? "none" : `${now.state} ${now.progress ?? ""}`}</p>
            <p data-testid="ended">{ended?.state ?? "none"}</p>
        </>
    );
}

const show = () => render(<StatusProvider><Shown /></StatusProvider>);
const text = (id: string) => screen.getByTestId(id).textContent;
const prints = (call: Call, line: JobStatus) => call.print(`${JSON.stringify(line)}\n`);
/** The page is looked at again: the status is asked for. */
const look = () => act(async () => { setHidden(true); setHidden(false); await Promise.resolve(); });

let follower: Call | undefined;
beforeEach(() => {
    says("status", { ...STATUS, jobs: [ERASE] });
    follower = undefined;
    does("job follow", (call) => { follower = call; });
});

async function followed(): Promise<Call> {
    await waitFor(() => expect(follower).toBeDefined());
    return follower as unknown as Call;
}

test("a job that runs is shown from the status, and from its own lines as soon as there are some", async () => {
    show();
    await waitFor(() => expect(text("now")).toBe("running 0.5"));
    const call = await followed();
    expect(call.argv.slice(1)).toEqual(["job", "follow", "erase", "--json"]);
    expect(call.options.superuser).toBeNull();
    act(() => prints(call, lineOf({ ...ERASE, progress: 0.6 })));
    await waitFor(() => expect(text("now")).toBe("running 0.6"));
    expect(text("ended")).toBe("none");
});

test.each(["done", "cancelled"] as const)("a job that is %s is no longer there, whatever an older status says", async (state) => {
    show();
    const call = await followed();
    await act(async () => { prints(call, lineOf({ ...ERASE, state })); call.end(); await Promise.resolve(); });
    await waitFor(() => expect(text("ended")).toBe(state));
    says("status", STATUS);
    await look();
    await waitFor(() => expect(text("now")).toBe("none"));
    expect(text("ended")).toBe(state);
});

test("a job that failed has ended, and the sentence of the follower is no error of the page", async () => {
    show();
    const call = await followed();
    says("status", STATUS);
    await act(async () => {
        prints(call, lineOf({ ...ERASE, state: "failed" }, { reason: "the drive is gone" }));
        call.fail({ exit_status: 1, message: "millrace: the drive erasure ended as failed: the drive is gone" });
        await Promise.resolve();
    });
    await waitFor(() => expect(text("ended")).toBe("failed"));
    await waitFor(() => expect(text("now")).toBe("none"));
});

test("a follower that dies leaves what the status says, and is started again with the next one", async () => {
    show();
    const call = await followed();
    await act(async () => { call.fail({ exit_signal: "KILL" }); await Promise.resolve(); });
    expect(text("now")).toBe("running 0.5");
    await new Promise((resolve) => setTimeout(resolve, 5));
    await look();
    await waitFor(() => expect(started("job follow")).toHaveLength(2));
});

test("another job of the kind is followed after the first one", async () => {
    show();
    const call = await followed();
    says("status", STATUS);
    await act(async () => { prints(call, lineOf({ ...ERASE, state: "done" })); call.end(); await Promise.resolve(); });
    await waitFor(() => expect(text("now")).toBe("none"));
    says("status", { ...STATUS, jobs: [{ ...ERASE, progress: 0.1 }] });
    await look();
    await waitFor(() => expect(started("job follow")).toHaveLength(2));
    await waitFor(() => expect(text("now")).toBe("running 0.1"));
});

test("a job that waits is shown and not followed", async () => {
    says("status", { ...STATUS, jobs: [{ ...ERASE, state: "waiting", progress: null }] });
    show();
    await waitFor(() => expect(text("now")).toBe("waiting "));
    expect(started("job follow")).toEqual([]);
});

test("nobody follows a job whose page was left", async () => {
    const { unmount } = show();
    const call = await followed();
    unmount();
    expect(call.closed).toBe("cancelled");
});

test("a job shows who ordered it, what a restart does, and why it cannot be cancelled", () => {
    render(<JobView job={{ ...ERASE, bytes_per_second: 205_000_000 }} />);
    const shown = screen.getByTestId("job-erase");
    expect(within(shown).getByRole("progressbar", { name: "Erasure of a drive: its object" }).getAttribute("aria-valuenow")).toBe("50");
    expect(shown.textContent).toContain("10 minutes left · 205\u00a0MB/s");
    expect(shown.textContent).toContain("Ordered by anna. When the server restarts, the job ends.");
    expect(shown.textContent).toContain("It cannot be stopped: a drive that was erased in part is of no use.");
    expect(screen.queryByRole("button")).toBeNull();
});

test("a reason that this page does not know is that of the server, and one that can be stopped has none", () => {
    const { unmount } = render(<JobView job={jobOf("trim", { cancellable: false, why: "the file system decides" })} />);
    expect(screen.getByTestId("job-trim").textContent).toContain("the file system decides");
    unmount();
    render(<JobView job={jobOf("erase", { why: null })} />);
    expect(screen.getByTestId("job-erase").textContent).not.toContain("cannot be stopped");
});

test.each([
    ["continues", "the job continues."],
    ["continues in its window", "the job continues in its window."],
    ["is confirmed again", "the job waits until it is confirmed again."],
] as const)("a job that %s after a restart says so", (after_boot, words) => {
    render(<JobView job={jobOf("adopt", { after_boot, by: null })} />);
    expect(screen.getByTestId("job-adopt").textContent).toContain(`When the server restarts, ${words}`);
    expect(screen.getByTestId("job-adopt").textContent).not.toContain("Ordered by");
});

test("a job is cancelled after a question, and a refusal stays in the dialog", async () => {
    refuses("job cancel", "no share clone is under way: millrace job list");
    let cancelled = 0;
    const user = userEvent.setup({ delay: null });
    render(<JobView job={jobOf("clone")} onCancelled={() => { cancelled += 1; }} />);
    await user.click(screen.getByRole("button", { name: "Stop job: Clone of a share" }));
    expect(started("job cancel")).toEqual([]);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Stop job" }));
    expect(await dialog.findByText(/no share clone is under way/)).toBeDefined();
    expect(cancelled).toBe(0);
    says("job cancel", lineOf({ ...jobOf("clone"), state: "cancelled" }));
    await user.click(dialog.getByRole("button", { name: "Stop job" }));
    await waitFor(() => expect(cancelled).toBe(1));
    expect(started("job cancel").at(-1)?.options.superuser).toBe("require");
    expect(screen.queryByRole("dialog")).toBeNull();
});

test("with limited access a job cannot be cancelled", async () => {
    setAdmin(false);
    render(<JobView job={jobOf("clone")} />);
    const button = screen.getByRole("button", { name: "Stop job: Clone of a share" });
    expect(button.getAttribute("aria-disabled")).toBe("true");
    await userEvent.setup({ delay: null }).click(button);
    expect(screen.queryByRole("dialog")).toBeNull();
});
