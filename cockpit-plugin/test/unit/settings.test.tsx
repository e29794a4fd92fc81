// SPDX-License-Identifier: Apache-2.0
/** By what the server is known: its certificate, and the domain. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import type { CertificateReport, RouteList } from "../../src/types/millrace";
import { StatusProvider } from "../../src/lib/status";
import Settings from "../../src/pages/settings";
import { document, golden } from "../documents";
import { refuses, says, setAdmin, started } from "../mocks/cockpit";

const OWN = document<CertificateReport>("certificate-show.json");
const PEM = OWN.client_trust ?? "";
const CHANGED = { schema_version: 1, changed: true, reason: "installed", origin: "installed", certificate: OWN.certificate, warnings: [] };

function show(): ReturnType<typeof userEvent.setup> {
    render(<StatusProvider><Settings /></StatusProvider>);
    return userEvent.setup({ delay: null });
}
const panel = async (name: string) => within(await screen.findByTestId(name));
// jsdom's files cannot be read.
const file = (text: string, name: string) => Object.assign(new File([text], name), { text: () => Promise.resolve(text) });
const argv = (verb: string) => started(verb).at(-1)?.argv.slice(1);

beforeEach(() => {
    golden("certificate show");
    golden("domain show", "none");
    golden("encryption show");
    golden("alert route list");
    golden("metrics status");
    golden("update status");
    golden("tune");
});

test("the certificate says for what it is, who made it and when it ends", async () => {
    show();
    const certificate = await panel("certificate");
    await certificate.findByText(/millrace, millrace\.local, localhost, 10\.77\.0\.1/);
    expect(certificate.getByText(/this server's own CA/)).toBeDefined();
    expect(certificate.getByText(OWN.certificate.fingerprint)).toBeDefined();
    expect(certificate.getByText(/days left/).closest("[data-level]")?.getAttribute("data-level")).toBe("OK");
    expect(certificate.getByRole("group", { name: "CA certificate", hidden: true }).textContent).toContain("BEGIN CERTIFICATE");
    expect(certificate.queryByRole("button", { name: /^Return to/ })).toBeNull();
});

test("one that ends soon is marked, and an installed one can be given back", async () => {
    golden("certificate show", "installed");
    says("certificate renew", { ...CHANGED, reason: "asked for", origin: "own" });
    const user = show();
    const certificate = await panel("certificate");
    expect((await certificate.findByText("12 days left")).closest("[data-level]")?.getAttribute("data-level")).toBe("WARN");
    await user.click(certificate.getByRole("button", { name: /^Return to/ }));
    await user.click(screen.getByRole("button", { name: "Create" }));
    await screen.findByText("The certificate has been replaced.");
    expect(argv("certificate renew")).toEqual(["certificate", "renew", "--own", "--json"]);
});

test("a key goes to standard input only, and what is no certificate is said where it is pasted", async () => {
    says("certificate install", { ...CHANGED, warnings: ["it ends on 2026-12-02"] });
    const user = show();
    await user.click(await (await panel("certificate")).findByRole("button", { name: "Install a certificate…" }));
    const dialog = within(screen.getByRole("dialog"));
    await user.click(dialog.getByLabelText(/^Or paste as text/));
    await user.paste("secret");
    expect(dialog.getByText(/found; use a file in PEM format/)).toBeDefined();
    expect(dialog.getByRole("button", { name: "Install" })).toHaveProperty("disabled", true);
    await user.clear(dialog.getByLabelText(/^Or paste as text/));
    const files = [file(PEM, "chain.pem"), file("-----BEGIN PRIVATE KEY-----", "server.key")];
    await user.upload(dialog.getByLabelText(/^From files/), files);
    await waitFor(() => expect(dialog.getByRole("button", { name: "Install" })).toHaveProperty("disabled", false));
    await user.click(dialog.getByRole("button", { name: "Install" }));
    await screen.findByText("it ends on 2026-12-02");
    const [made] = started("certificate install");
    expect(made?.argv).toEqual(["millrace", "certificate", "install", "-", "--json"]);
    expect(made?.input).toContain("PRIVATE KEY");
    expect(made?.options.superuser).toBe("require");
});

test("what the program refuses stays in the dialog, in its words", async () => {
    refuses("certificate install", "the private key fits none of the certificates: nothing was changed");
    const user = show();
    await user.click(await (await panel("certificate")).findByRole("button", { name: "Install a certificate…" }));
    await user.click(screen.getByLabelText(/^Or paste as text/));
    await user.paste(PEM);
    await user.click(screen.getByRole("button", { name: "Install" }));
    expect((await within(screen.getByRole("dialog")).findByTestId("error")).textContent).toContain("fits none of the certificates");
    expect(screen.getByRole("dialog")).toBeDefined();
});

test("a request is made to be signed elsewhere", async () => {
    says("certificate request", { schema_version: 1, names: ["millrace"], addresses: [], pem: "-----BEGIN CERTIFICATE REQUEST-----\n" });
    const user = show();
    await user.click(await (await panel("certificate")).findByRole("button", { name: "Create a signing request" }));
    expect((await screen.findByRole("group", { name: "Certificate signing request (CSR)" })).textContent).toContain("CERTIFICATE REQUEST");
});

test("a domain is joined with a password that nobody else sees", async () => {
    golden("domain join");
    const user = show();
    await user.click(await (await panel("domain")).findByRole("button", { name: "Join a domain…" }));
    const dialog = within(screen.getByRole("dialog"));
    await user.type(dialog.getByLabelText(/^Domain/), "example");
    expect(dialog.getByText(/'example' is not the name of a domain/)).toBeDefined();
    await user.clear(dialog.getByLabelText(/^Domain/));
    await user.type(dialog.getByLabelText(/^Domain/), "ad.example.com");
    await user.type(dialog.getByLabelText(/^Account password/), "s3cret!");
    await user.type(dialog.getByLabelText(/^DNS servers/), "10.1.0.5 dc1");
    expect(dialog.getByText(/'dc1' is not an address/)).toBeDefined();
    await user.clear(dialog.getByLabelText(/^DNS servers/));
    await user.type(dialog.getByLabelText(/^DNS servers/), "10.1.0.5");
    golden("domain show");
    await user.click(dialog.getByRole("button", { name: "Join" }));
    await screen.findByText("MILLRACE is a member of ad.example.com");
    const [made] = started("domain join");
    expect(made?.argv.slice(1)).toEqual(["domain", "join", "ad.example.com", "Administrator", "--dns=10.1.0.5", "--password-stdin", "--json"]);
    expect(made?.input).toBe("s3cret!\n");
    const shown = await panel("domain");
    await shown.findByText(/AD\.EXAMPLE\.COM \(EXAMPLE\)/);
    expect(shown.getByText("trust is valid").closest("[data-level]")?.getAttribute("data-level")).toBe("OK");
    expect(shown.getByText("nfs/millrace.ad.example.com")).toBeDefined();
});

test("a membership that does not hold says so, and is left without its account", async () => {
    golden("domain show", "broken");
    says("domain leave", { schema_version: 1, serial: 8, domain: null, verified: [], warnings: ["the entry MILLRACE stays in the domain"] });
    const user = show();
    const domain = await panel("domain");
    expect((await domain.findByText("trust is broken")).closest("[data-level]")?.getAttribute("data-level")).toBe("FAIL");
    expect(domain.getByText(/could not obtain/)).toBeDefined();
    expect(domain.getByText("none reachable")).toBeDefined();
    await user.click(domain.getByRole("button", { name: "Leave the domain…" }));
    golden("domain show", "none");
    await user.click(screen.getByRole("button", { name: "Leave" }));
    await screen.findByText("the entry MILLRACE stays in the domain");
    expect(argv("domain leave")).toEqual(["domain", "leave", "--json"]);
    await (await panel("domain")).findByText(/Not a member of a domain/);
});

test("who may only look reads both and changes neither", async () => {
    setAdmin(false);
    const user = show();
    const button = await (await panel("certificate")).findByRole("button", { name: "Install a certificate…" });
    expect(button.getAttribute("aria-disabled")).toBe("true");
    await user.click(button);
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(started("certificate show")[0]?.options.superuser).toBeNull();
});

test("each route says where it leads, how it does and what waits, without a secret", async () => {
    show();
    const alerts = await panel("alerts");
    const row = async (name: string) => (await alerts.findByRole("rowheader", { name })).closest("tr");
    expect((await row("ops"))?.textContent).toMatch(/Mail.*ops@example\.com by smtp\.example\.com:587.*sign of life at 08:00.*Delivered /);
    expect((await row("chat"))?.textContent).toMatch(/unencrypted.*replied with status 500.*2 messages waiting/);
    expect(within(await row("chat") as HTMLElement).getByText(/status 500/).closest("[data-level]")?.getAttribute("data-level")).toBe("FAIL");
    expect((await row("log"))?.textContent).toMatch(/Journal of this server.*Nothing delivered yet/);
});

test("a test says whether it arrived, and why not in the program's words", async () => {
    const result = { id: "1", route: "chat", problem: "chat.example.com redirects (status 302): give the route the URL that it redirects to" };
    says("alert test", { schema_version: 1, results: [result] });
    const user = show();
    await user.click(await (await panel("alerts")).findByRole("button", { name: "Send a test by chat" }));
    const done = await screen.findByTestId("done");
    expect(done.textContent).toContain("The test message did not arrive.");
    expect(done.textContent).toContain(`chat: ${result.problem}`);
    expect(argv("alert test")).toEqual(["alert", "test", "chat", "--json"]);
    says("alert test", { schema_version: 1, results: [{ ...result, problem: null }] });
    await user.click(screen.getByRole("button", { name: "Send a test by chat" }));
    await screen.findByText("The test message has been delivered.");
});

test("the password of a mail server goes to standard input only", async () => {
    golden("alert route list", "empty");
    says("alert route add mail", document("alert-route-list.json"));
    const user = show();
    const alerts = await panel("alerts");
    await alerts.findByText("Problems of this server are not reported anywhere yet.");
    await user.click(alerts.getByRole("button", { name: "Add a route…" }));
    const dialog = within(screen.getByRole("dialog"));
    const type = async (label: RegExp, text: string) => { await user.type(dialog.getByLabelText(label), text); };
    await type(/^Name/, "Ops");
    expect(dialog.getByText(/cannot be the name of a route/)).toBeDefined();
    await user.clear(dialog.getByLabelText(/^Name/));
    await type(/^Name/, "ops");
    await type(/^Mail server/, "smtp.example.com");
    await type(/^Sender/, "nas@example.com");
    await type(/^Recipients/, "ops@example.com, night");
    expect(dialog.getByText(/night.* is not a mail address/)).toBeDefined();
    await type(/^Recipients/, "@example.com");
    await type(/^User/, "nas");
    const add = dialog.getByRole("button", { name: "Add" });
    expect(add).toHaveProperty("disabled", true);
    await type(/^Password/, "s3cret");
    await type(/^Daily/, "08:00");
    await user.click(add);
    await screen.findByText("The route has been added. Send a test.");
    const [made] = started("alert route add mail");
    expect(made?.argv.slice(4)).toEqual(["mail", "ops", "--server=smtp.example.com", "--security=starttls", "--from=nas@example.com",
        "--to=ops@example.com", "--to=night@example.com", "--user=nas", "--password-stdin", "--daily=08:00", "--json"]);
    expect(made?.input).toBe("s3cret\n");
    expect(made?.options.superuser).toBe("require");
});

test("the URL of a webhook is hidden and goes to standard input only", async () => {
    says("alert route add webhook", document("alert-route-list.json"));
    const user = show();
    await user.click(await (await panel("alerts")).findByRole("button", { name: "Add a route…" }));
    const dialog = within(screen.getByRole("dialog"));
    await user.selectOptions(dialog.getByLabelText(/^Type/), "webhook");
    await user.type(dialog.getByLabelText(/^Name/), "chat");
    expect(dialog.getByLabelText(/^URL/)).toHaveProperty("type", "password");
    await user.type(dialog.getByLabelText(/^URL/), "https://chat.example.com/s3cret");
    await user.click(dialog.getByRole("button", { name: "Add" }));
    await screen.findByText("The route has been added. Send a test.");
    const [made] = started("alert route add webhook");
    expect(made?.argv).toEqual(["millrace", "alert", "route", "add", "webhook", "chat", "--url-stdin", "--json"]);
    expect(made?.input).toBe("https://chat.example.com/s3cret\n");
});

test("a syslog receiver is reached by TLS unless another encryption is chosen", async () => {
    says("alert route add syslog", document("alert-route-list.json"));
    const user = show();
    await user.click(await (await panel("alerts")).findByRole("button", { name: "Add a route…" }));
    const dialog = within(screen.getByRole("dialog"));
    await user.selectOptions(dialog.getByLabelText(/^Type/), "syslog");
    await user.type(dialog.getByLabelText(/^Name/), "siem");
    expect(dialog.queryByLabelText(/^Encryption/)).toBeNull();
    await user.type(dialog.getByLabelText(/^Syslog receiver/), "log.example.com");
    expect(dialog.queryByRole("option", { name: /STARTTLS/ })).toBeNull();
    await user.click(dialog.getByRole("button", { name: "Add" }));
    await screen.findByText("The route has been added. Send a test.");
    expect(argv("alert route add syslog")).toEqual(
        ["alert", "route", "add", "syslog", "siem", "--server=log.example.com", "--security=tls", "--json"]);
});

test("the CA of a receiver follows the secret on standard input", async () => {
    says("alert route add webhook", document("alert-route-list.json"));
    const user = show();
    await user.click(await (await panel("alerts")).findByRole("button", { name: "Add a route…" }));
    const dialog = within(screen.getByRole("dialog"));
    await user.selectOptions(dialog.getByLabelText(/^Type/), "webhook");
    await user.type(dialog.getByLabelText(/^Name/), "chat");
    await user.type(dialog.getByLabelText(/^URL/), "https://chat.example.com/s3cret");
    const field = dialog.getByLabelText(/^CA certificate/);
    const add = dialog.getByRole("button", { name: "Add" });
    await user.click(field);
    await user.paste("MIIB");
    expect(dialog.getByText(/no line .*found; use a file in PEM format/)).toBeDefined();
    expect(add).toHaveProperty("disabled", true);
    await user.clear(field);
    await user.click(field);
    await user.paste(PEM);
    await user.click(add);
    await screen.findByText("The route has been added. Send a test.");
    const [made] = started("alert route add webhook");
    expect(made?.argv.slice(5)).toEqual(["chat", "--url-stdin", "--ca=-", "--json"]);
    expect(made?.input).toBe(`https://chat.example.com/s3cret\n${PEM}`);
});

test("no CA is asked for, nor sent, where nothing is encrypted", async () => {
    says("alert route add syslog", document("alert-route-list.json"));
    const user = show();
    await user.click(await (await panel("alerts")).findByRole("button", { name: "Add a route…" }));
    const dialog = within(screen.getByRole("dialog"));
    const asked = () => dialog.queryByLabelText(/^CA certificate/) !== null;
    expect(asked()).toBe(true);
    await user.selectOptions(dialog.getByLabelText(/^Encryption/), "none");
    expect(asked()).toBe(false);
    await user.selectOptions(dialog.getByLabelText(/^Type/), "webhook");
    await user.type(dialog.getByLabelText(/^URL/), "http://chat.example.com/");
    expect(asked()).toBe(false);
    await user.selectOptions(dialog.getByLabelText(/^Type/), "syslog");
    expect(asked()).toBe(false);
    await user.type(dialog.getByLabelText(/^Name/), "siem");
    await user.type(dialog.getByLabelText(/^Syslog receiver/), "log.example.com");
    await user.selectOptions(dialog.getByLabelText(/^Encryption/), "tls");
    await user.click(dialog.getByLabelText(/^CA certificate/));
    await user.paste(PEM);
    await user.selectOptions(dialog.getByLabelText(/^Encryption/), "none");
    await user.click(dialog.getByRole("button", { name: "Add" }));
    await screen.findByText("The route has been added. Send a test.");
    const [made] = started("alert route add syslog");
    expect(made?.argv.slice(5)).toEqual(["siem", "--server=log.example.com", "--security=none", "--json"]);
    expect(made?.input).toBe("");
});

test("a route with a CA of its own names it and its end", async () => {
    const list = document<RouteList>("alert-route-list.json");
    const authorities = [{ subject: "CN=Corp CA", not_after: "2031-03-04T10:00:00+00:00" }];
    says("alert route list", { ...list, routes: list.routes.map((one) => (one.name === "ops" ? { ...one, authorities } : one)) });
    show();
    const alerts = await panel("alerts");
    const row = async (name: string) => (await alerts.findByRole("rowheader", { name })).closest("tr")?.textContent;
    expect(await row("ops")).toMatch(/own CA CN=Corp CA, valid until .*2031/);
    expect(await row("log")).not.toMatch(/own CA/);
});

test("a route that exists is refused in the dialog, in the program's words", async () => {
    refuses("alert route add syslog", "there is a route log already: millrace alert route remove log");
    const user = show();
    await user.click(await (await panel("alerts")).findByRole("button", { name: "Add a route…" }));
    const dialog = within(screen.getByRole("dialog"));
    await user.selectOptions(dialog.getByLabelText(/^Type/), "syslog");
    await user.type(dialog.getByLabelText(/^Name/), "log");
    await user.click(dialog.getByRole("button", { name: "Add" }));
    expect((await dialog.findByTestId("error")).textContent).toContain("there is a route log already");
});

test("removing a route names it and says what is lost", async () => {
    says("alert route remove", document("alert-route-list.empty.json"));
    const user = show();
    await user.click(await (await panel("alerts")).findByRole("button", { name: "Remove route chat" }));
    const dialog = within(screen.getByRole("dialog"));
    expect(dialog.getByText(/undelivered messages are deleted/)).toBeDefined();
    await user.click(dialog.getByRole("button", { name: "Remove" }));
    await screen.findByText("The route has been removed.");
    expect(argv("alert route remove")).toEqual(["alert", "route", "remove", "chat", "--json"]);
});

test("with limited access the routes are seen and not changed", async () => {
    setAdmin(false);
    show();
    const alerts = await panel("alerts");
    expect((await alerts.findByRole("button", { name: "Send a test by ops" })).getAttribute("aria-disabled")).toBe("true");
    expect(alerts.getByRole("button", { name: "Add a route…" }).getAttribute("aria-disabled")).toBe("true");
});
