// SPDX-License-Identifier: Apache-2.0
/** From a share to what a client needs: chosen, explained, copied, taken along. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import type { Recipe } from "../../src/types/millrace";
import * as saving from "../../src/lib/download";
import Clients from "../../src/pages/clients";
import { problems } from "../../src/pages/clients/choice";
import { lanesOf } from "../../src/pages/clients/lanes";
import { document, golden } from "../documents";
import { does, open, refuses, says, started } from "../mocks/cockpit";

const recipe = (protocol: string) => document<Recipe>(`1u12-provisioned/client-recipe-${protocol}.json`);
const ONE_ADDRESS = "trunking needs several addresses, and clients of this share can reach only one: give the ports secondary addresses or use --protocol nfs-tcp";
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

function show(): ReturnType<typeof userEvent.setup> {
    render(<Clients />);
    return userEvent.setup({ delay: null });
}

beforeEach(() => {
    open(["clients"]);
    says("share list", document("1u12-provisioned/share-list.json"));
    says("client recipe", recipe("nfs-tcp"));
});

test("what a client has to run before it mounts over TLS is shown, too", async () => {
    const prepare = ["systemctl enable --now tlshd.service"];
    says("client recipe", { ...recipe("nfs-tcp"), prepare });
    show();
    const shown = await screen.findByTestId("recipe");
    expect(shown.textContent).toContain("Run as root after creating the files");
    expect(shown.textContent).toContain(prepare[0]);
});

test("a recipe shows every file, line and command of the program, and every reason", async () => {
    show();
    const shown = await screen.findByTestId("recipe");
    const { files, fstab, fstab_commands, options, notes } = recipe("nfs-tcp");
    expect(shown.textContent).toContain(fstab[0]);
    for (const { text, path } of files) {
        expect(shown.textContent).toContain(text.trim().split("\n")[0]);
        expect(shown.textContent).toContain(path);
    }
    for (const command of fstab_commands) expect(shown.textContent).toContain(command);
    for (const { option, reason } of options) {
        expect(screen.getByTestId("reasons").textContent).toContain(option);
        expect(screen.getByTestId("reasons").textContent).toContain(reason);
    }
    for (const { text } of notes) expect(screen.getByTestId("notes").textContent).toContain(text);
});

test("what is copied is what is shown", async () => {
    const copy = vi.spyOn(saving, "copy").mockResolvedValue(true);
    const user = show();
    await user.click(await screen.findByRole("button", { name: "Copy: Append to /etc/fstab" }));
    expect(copy).toHaveBeenCalledWith(`${recipe("nfs-tcp").fstab.join("\n")}\n`);
    await screen.findByText("Copied");
});

test("units and commands are two other ways of the same mount", async () => {
    const user = show();
    await user.click(await screen.findByRole("button", { name: "systemd units" }));
    expect(screen.getByTestId("recipe").textContent).toContain("/etc/systemd/system/mnt-models.mount (mode 0644)");
    await user.click(screen.getByRole("button", { name: "Until the next boot" }));
    expect(screen.getByTestId("recipe").textContent).toContain(recipe("nfs-tcp").commands[1]);
});

test("the choice goes to the program, a user only for SMB", async () => {
    const user = show();
    await user.selectOptions(await screen.findByLabelText("Share"), "models");
    await user.selectOptions(screen.getByLabelText("Protocol"), "smb-multichannel");
    await user.selectOptions(screen.getByLabelText("Workload"), "checkpoint");
    await user.type(screen.getByLabelText("User"), "LAB\\anna");
    await waitFor(() => expect(argv("client recipe")).toEqual(["client", "recipe", "--share=models", "--workload=checkpoint",
        "--protocol=smb-multichannel", "--user=LAB\\anna", "--json"]), { timeout: 3000 });
    await user.selectOptions(screen.getByLabelText("Protocol"), "nfs-rdma");
    expect(screen.queryByLabelText("User")).toBeNull();
});

test("a choice of GPUs takes RDMA with it, and shows what they need", async () => {
    const user = show();
    says("client recipe", recipe("gpu-amd"));
    await user.selectOptions(await screen.findByLabelText("GPUs of the client"), "amd");
    await waitFor(() => expect(argv("client recipe")).toEqual(["client", "recipe", "--share=data", "--workload=training",
        "--protocol=nfs-rdma-trunked", "--gpu=amd", "--json"]), { timeout: 3000 });
    const shown = await screen.findByTestId("gpus");
    const { gpu } = recipe("gpu-amd");
    expect(gpu?.traps.length).toBeGreaterThan(2);
    for (const { problem, fix, source } of gpu?.traps ?? []) for (const text of [problem, fix, source]) expect(shown.textContent).toContain(text);
    for (const { option, reason } of [...gpu?.proof ?? [], ...gpu?.environment ?? []]) {
        expect(shown.textContent).toContain(option);
        expect(shown.textContent).toContain(reason);
    }
    says("client recipe", recipe("gpu-nvidia"));
    await user.selectOptions(screen.getByLabelText("GPUs of the client"), "nvidia");
    await waitFor(() => expect(screen.getByTestId("gpus").textContent).toContain("mount_table"), { timeout: 3000 });
    expect(screen.getByTestId("gpus").textContent).toContain("Merge into /etc/cufile.json");
    const program = screen.getByRole<HTMLButtonElement>("button", { name: "Check program only" });
    does("client check-script", (call) => call.end("program"));
    vi.spyOn(saving, "download").mockReturnValue(undefined);
    await user.click(program);
    await waitFor(() => expect(argv("client check-script")).toEqual(["client", "check-script", "--gpu=nvidia"]));
});

test("a local cache is asked for over NFS only", async () => {
    const user = show();
    await user.click(await screen.findByLabelText("Keep data on local drives of the client (fsc)"));
    await waitFor(() => expect(argv("client recipe")).toContain("--local-cache"), { timeout: 3000 });
    await user.selectOptions(screen.getByLabelText("Protocol"), "smb-multichannel");
    await waitFor(() => expect(argv("client recipe")).toContain("--protocol=smb-multichannel"), { timeout: 3000 });
    expect(argv("client recipe")).not.toContain("--local-cache");
});

test("a recipe that cannot work is refused in the program's words", async () => {
    refuses("client recipe", ONE_ADDRESS);
    show();
    await screen.findByText(ONE_ADDRESS);
    expect(screen.queryByTestId("recipe")).toBeNull();
});

test("a host name that is none is not asked for", async () => {
    const user = show();
    await user.type(await screen.findByLabelText("Host name of this server for clients"), "two words");
    await screen.findByText("'two words' is not a host name: use letters, digits, - and dots");
    expect(started("client recipe").some(({ argv: words }) => words.some((one) => one.includes("two")))).toBe(false);
    const choice = { share: "a", workload: "mixed", protocol: "smb-multichannel", host: "", user: "a b", gpu: "none", localCache: false } as const;
    expect(problems(choice).user).toContain("NAME or DOMAIN\\NAME");
});

test("a trunk has all connections to the first address and one to each other", async () => {
    expect(lanesOf(recipe("nfs-tcp-trunked"))).toEqual([{ address: "10.77.0.1", connections: 8 }, { address: "10.77.1.1", connections: 1 }]);
    expect(lanesOf(recipe("nfs-rdma"))).toEqual([{ address: "10.77.0.1", connections: 4 }]);
    says("client recipe", recipe("nfs-tcp-trunked"));
    show();
    const picture = within(await screen.findByTestId("lanes")).getByRole("img");
    expect(picture.getAttribute("aria-label")).toBe("Connections of this mount. 10.77.0.1: 8 connections; 10.77.1.1: 1 connection");
    expect(picture.querySelectorAll("line")).toHaveLength(9);
});

test("the kit is saved byte by byte, and a failure says why", async () => {
    const saved = vi.spyOn(saving, "download").mockReturnValue(undefined);
    does("client kit", (call) => call.end("tar of everything"));
    const user = show();
    await user.click(await screen.findByRole("button", { name: "Download client kit" }));
    await waitFor(() => expect(saved).toHaveBeenCalled());
    const [name, content, type] = saved.mock.calls[0] ?? [];
    expect([name, new TextDecoder().decode(content as Uint8Array), type]).toEqual(["millrace-models-nfs-tcp.tar", "tar of everything", "application/x-tar"]);
    expect(argv("client kit")).toEqual(["client", "kit", "--share=data", "--workload=training", "--protocol=nfs-tcp", "-"]);
    refuses("client kit", "there is no share 'data': there is models");
    await user.click(screen.getByRole("button", { name: "Download client kit" }));
    await screen.findByText("there is no share 'data': there is models");
});

test("without a share there is nothing to mount, and a way on", async () => {
    golden("share list", "empty");
    show();
    await screen.findByText("No shares to mount yet");
    expect(screen.getByRole("link", { name: "Go to shares" }).getAttribute("href")).toBe("#/shares");
});

test("objects for Kubernetes are shown when they are asked for, and the program's refusal as it is", async () => {
    const notes = [{ text: "Each claim can hold 107 GB.", source: "xfs_quota(8)" }];
    says("client kubernetes", { schema_version: 1, share: "data", server: "10.0.0.2", storage_class: "fast", volumes: [], yaml: "---\nkind: Secret\n", notes });
    const user = show();
    const panel = within(await screen.findByTestId("kubernetes"));
    expect(started("client kubernetes")).toEqual([]);
    await user.click(panel.getByRole("button", { name: "Show objects" }));
    expect(await panel.findByText(/kind: Secret/)).toBeDefined();
    expect(panel.getByText(/107 GB/)).toBeDefined();
    refuses("client kubernetes", "'Fast' cannot be the name of a Kubernetes object");
    await user.type(panel.getByRole("textbox", { name: "Name of the StorageClass" }), "Fast");
    await user.type(panel.getByRole("textbox", { name: "Data sets" }), "a b");
    expect(await panel.findByText(/'Fast' cannot be/)).toBeDefined();
    await waitFor(() => expect(argv("client kubernetes")).toEqual(expect.arrayContaining(["--class=Fast", "--dataset=a", "--dataset=b"])));
});
