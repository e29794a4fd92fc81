// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import DownloadIcon from "@patternfly/react-icons/dist/esm/icons/download-icon";
import type { Recipe, Share } from "../../types/millrace";
import { DownloadButton } from "../../components/DownloadButton";
import { ChoiceField, TextField } from "../../components/Field";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Empty, ErrorState, Loaded, Loading } from "../../components/States";
import { download } from "../../lib/download";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useDebounced } from "../../lib/debounce";
import { link, useRoute } from "../../lib/route";
import { gpuWord, isRdma, isSmb, problems, workloadMeaning, workloadWord, protocolWord, serves, words, type Choice, type Gpu } from "./choice";
import { GPUS, PROTOCOLS, WORKLOADS } from "../../types/rules";
import { Kubernetes } from "./Kubernetes";
import { LanesPicture } from "./LanesPicture";
import { GpuPart } from "./GpuPart";
import { Notes, Reasons, Steps, Systems } from "./RecipeParts";

function Choose({ shares, choice, set }: {
    shares: Share[]; choice: Choice; set: (changed: Partial<Choice>) => void;
}): JSX.Element {
    const share = shares.find(({ name }) => name === choice.share);
    const found = problems(choice);
    const gpus: Gpu[] = ["none", ...GPUS];
    // A choice that the program would refuse is changed with the GPUs, not after its refusal.
    const withGpu = (gpu: Gpu) => set({ gpu, ...(gpu !== "none" && !isRdma(choice.protocol) && { protocol: "nfs-rdma-trunked" }) });
    return (
        <Panel title={_("Client")} wide testId="choose">
            <Form className="mr-fields" onSubmit={(event) => event.preventDefault()}>
                <ChoiceField id="share" label={_("Share")} value={choice.share} onChange={(name) => set({ share: name })}
                    options={shares.map(({ name }) => ({ value: name, label: name }))} />
                <ChoiceField id="protocol" label={_("Protocol")} value={choice.protocol} onChange={(protocol) => set({ protocol })}
                    options={PROTOCOLS.map((value) => ({
                        value,
                        label: share === undefined || serves(share, value) ? protocolWord(value) : format(_("$0 (disabled for this share)"), protocolWord(value)),
                    }))} />
                <ChoiceField id="workload" label={_("Workload")} value={choice.workload} onChange={(workload) => set({ workload })}
                    options={WORKLOADS.map((value) => ({ value, label: workloadWord(value) }))} help={workloadMeaning(choice.workload)} />
                <ChoiceField id="gpu" label={_("GPUs of the client")} value={choice.gpu} onChange={withGpu}
                    options={gpus.map((value) => ({ value, label: gpuWord(value) }))}
                    help={_("Reads go straight into the memory of the GPUs, over RDMA and without TLS.")} />
                {!isSmb(choice.protocol) && (
                    <Checkbox id="local-cache" label={_("Keep data on local drives of the client (fsc)")} isChecked={choice.localCache}
                        description={_("For read-only shares; needs cachefilesd on the client.")}
                        onChange={(_event, localCache) => set({ localCache })} />
                )}
                <TextField id="host" label={_("Host name of this server for clients")} value={choice.host} onChange={(host) => set({ host })}
                    problem={found.host} placeholder={_("default: an IP address")} help={_("Optional; must resolve in DNS.")} />
                {isSmb(choice.protocol) && (
                    <TextField id="user" label={_("User")} value={choice.user} onChange={(user) => set({ user })} problem={found.user}
                        placeholder={share?.smb?.users[0] ?? "admin"} help={_("NAME, or DOMAIN\\NAME.")} />
                )}
            </Form>
        </Panel>
    );
}

function Downloads({ recipe, args }: { recipe: Recipe; args: string[] }): JSX.Element {
    return (
        <div className="mr-stack">
            <p>{_("One archive with files, units, fstab lines, expected values and a program that checks a mount on the client.")}</p>
            <div className="mr-actions">
                <DownloadButton variant="primary" words={["client", "kit", ...args, "-"]} file={`millrace-${recipe.share}-${recipe.protocol}.tar`}
                    type="application/x-tar">{_("Download client kit")}</DownloadButton>
                <DownloadButton variant="secondary" words={["client", "check-script", ...(recipe.gpu === null ? [] : [`--gpu=${recipe.gpu.maker}`])]} file="check.pyz" type="application/zip">{_("Check program only")}</DownloadButton>
                <Button variant="secondary" icon={<DownloadIcon />}
                    onClick={() => download("expect.json", `${JSON.stringify(recipe.expect, null, 2)}\n`, "application/json")}>
                    {_("Expected values")}
                </Button>
            </div>
            <code>{`python3 check.pyz ${recipe.mountpoint} --expect expect.json`}</code>
        </div>
    );
}

function Shown({ choice }: { choice: Choice }): JSX.Element {
    const args = useDebounced(words(choice));
    const good = Object.values(problems(choice)).every((one) => one === undefined);
    const found = useVerb("client recipe", args, { when: good });
    if (!good) return <></>;
    if (found.error !== undefined) return <ErrorState error={found.error} retry={found.reload} />;
    if (found.data === undefined) return <Loading what={_("Loading recipe")} />;
    const recipe = found.data;
    return (
        <>
            <Panel title={_("Steps on the client")} wide testId="recipe"><Steps recipe={recipe} /></Panel>
            {(recipe.systems ?? []).length > 0 && (
                <Panel title={_("Windows and macOS")} wide testId="systems"><Systems systems={recipe.systems ?? []} /></Panel>
            )}
            <Panel title={_("Connections")} testId="connections"><LanesPicture recipe={recipe} /></Panel>
            <Panel title={_("Downloads")} testId="downloads"><Downloads recipe={recipe} args={args} /></Panel>
            {recipe.gpu !== null && <Panel title={_("GPUs")} wide testId="gpus"><GpuPart gpu={recipe.gpu} /></Panel>}
            {recipe.notes.length > 0 && <Panel title={_("Information")} wide testId="notes"><Notes recipe={recipe} /></Panel>}
            <Panel title={_("Reasons for the options")} wide testId="reasons"><Reasons recipe={recipe} /></Panel>
        </>
    );
}

function Chosen({ shares, wanted }: { shares: Share[]; wanted: string | undefined }): JSX.Element {
    const first = shares.find(({ name }) => name === wanted) ?? shares[0];
    const [choice, setChoice] = useState<Choice>({
        share: first?.name ?? "",
        workload: "training",
        protocol: first === undefined || serves(first, "nfs-tcp") ? "nfs-tcp" : serves(first, "smb-rdma") ? "smb-rdma" : "smb-multichannel",
        host: "",
        user: "",
        gpu: "none",
        localCache: false,
    });
    return (
        <div className="mr-pair">
            <Choose shares={shares} choice={choice} set={(changed) => setChoice((old) => ({ ...old, ...changed }))} />
            <Shown choice={choice} />
            {!isSmb(choice.protocol) && <Kubernetes key={choice.share} choice={choice} />}
        </div>
    );
}

export default function Clients(): JSX.Element {
    const { options } = useRoute();
    const list = useVerb("share list");
    const wanted = typeof options["share"] === "string" ? options["share"] : undefined;
    return (
        <>
            <PageHeader title={_("Clients")}>{_("Client settings for mounting a share at full speed, with a reason for each option.")}</PageHeader>
            <Loaded of={list} what={_("Loading shares")}>
                {({ shares }) => (shares.length > 0
                    // Another share in the address is another start.
                    ? <Chosen key={wanted} shares={shares} wanted={wanted} />
                    : (
                        <Empty title={_("No shares to mount yet")} actions={<a href={link("shares")}>{_("Go to shares")}</a>}>
                            {_("Client recipes appear here once a share exists.")}
                        </Empty>
                    ))}
            </Loaded>
        </>
    );
}
