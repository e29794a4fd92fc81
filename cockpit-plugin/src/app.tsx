// SPDX-License-Identifier: Apache-2.0
import { Suspense, useEffect, useRef, type ComponentType, type JSX } from "react";
import { Page, PageSection } from "@patternfly/react-core/dist/esm/components/Page/index.js";
import { Tabs } from "./components/Tabs";
import { Boundary } from "./components/Boundary";
import { Empty, LimitedAccess, Loading } from "./components/States";
import { _ } from "./lib/i18n";
import { page } from "./lib/page";
import { link, useRoute } from "./lib/route";
import { StatusProvider } from "./lib/status";
import Overview from "./pages/overview";

/** Loaded when one of them is opened; Overview, which is opened first, comes with the frame. */
const later = () => import("./pages/later");
const Access = page(async () => ({ default: (await later()).Access }));
const Benchmark = page(async () => ({ default: (await later()).Benchmark }));
const Clients = page(async () => ({ default: (await later()).Clients }));
const Network = page(async () => ({ default: (await later()).Network }));
const Protection = page(async () => ({ default: (await later()).Protection }));
const Server = page(async () => ({ default: (await later()).Server }));
const Settings = page(async () => ({ default: (await later()).Settings }));
const Shares = page(async () => ({ default: (await later()).Shares }));
const Storage = page(async () => ({ default: (await later()).Storage }));
const Volumes = page(async () => ({ default: (await later()).Volumes }));

/** The first part of the address names the page; what follows is the page's own. */
const PAGES: Record<string, ComponentType> = {
    "": Overview,
    server: Server,
    storage: Storage,
    shares: Shares,
    volumes: Volumes,
    protection: Protection,
    network: Network,
    clients: Clients,
    benchmark: Benchmark,
    access: Access,
    settings: Settings,
};

function NoSuchPage(): JSX.Element {
    return <Empty title={_("Page not found")} actions={<a href={link()}>{_("Go to the overview")}</a>} />;
}

export function App(): JSX.Element {
    const name = useRoute().path[0] ?? "";
    const Shown = PAGES[name] ?? NoSuchPage;
    const main = useRef<HTMLDivElement>(null);
    const before = useRef(name);
    useEffect(() => {
        // A screen reader starts to read where the new page starts.
        if (before.current !== name) main.current?.focus();
        before.current = name;
    }, [name]);
    return (
        <StatusProvider>
            <Page className="pf-m-no-sidebar mr-page" isContentFilled>
                <PageSection hasBodyWrapper={false} type="tabs" className="mr-tabs">
                    <Tabs label={_("Millrace pages")} current={name} tabs={[
                        { id: "", title: _("Overview"), href: link() },
                        { id: "server", title: _("Server"), href: link("server") },
                        { id: "storage", title: _("Storage"), href: link("storage") },
                        { id: "shares", title: _("Shares"), href: link("shares") },
                        { id: "protection", title: _("Protection"), href: link("protection") },
                        { id: "volumes", title: _("Volumes"), href: link("volumes") },
                        { id: "network", title: _("Network"), href: link("network") },
                        { id: "clients", title: _("Clients"), href: link("clients") },
                        { id: "benchmark", title: _("Benchmark"), href: link("benchmark") },
                        { id: "access", title: _("Access"), href: link("access") },
                        { id: "settings", title: _("Settings"), href: link("settings") },
                    ]} />
                </PageSection>
                <PageSection hasBodyWrapper={false} isFilled className="mr-main">
                    <div ref={main} tabIndex={-1} className="mr-focus">
                        <LimitedAccess />
                        <Boundary key={name}><Suspense fallback={<Loading what={_("Loading the page")} />}><Shown /></Suspense></Boundary>
                    </div>
                </PageSection>
            </Page>
        </StatusProvider>
    );
}
