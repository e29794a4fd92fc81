// SPDX-License-Identifier: Apache-2.0
// What the verbs print with --json. Made by `tools/host/enter types`; a test fails where it drifted.

/**
 * How many accelerators a load keeps busy, each at `floor` (0..100) or more.
 *
 * `au` is measured (0..100), None where the number is from the formula. `retired`: the rules of MLPerf Storage no
 * longer accept this type; it stays to compare with older figures.
 */
export interface Accelerators {
    accelerator: string;
    count: number;
    floor: number;
    au: number | null;
    bandwidth: number;
    retired: boolean;
}

/** The people who manage this server, and whether ssh accepts connections. */
export interface AccessList {
    schema_version: 1;
    people: PersonEntry[];
    ssh: boolean;
}

/** The result of a change of a user or a group, in a sentence; `user` or `group` is what exists afterwards. */
export interface AccountReport {
    schema_version: 1;
    user: User | null;
    group: Group | null;
    done: string;
}

/** An address on which clients reach this server, its port, and the web console there. */
export interface Address {
    interface: string;
    address: string;
    url: string;
}

/** What was done. The password is not part of it: output ends up in the journal. */
export interface AdminReport {
    schema_version: 1;
    user: string;
    outcome: "exists" | "created" | "new-password";
    one_time: boolean;
}

/** What an adoption restored. `missing` is what did not come back, in sentences. */
export interface Adopted {
    schema_version: 1;
    pool: string;
    generation: number;
    host: string;
    shares: string[];
    users: string[];
    missing: string[];
}

/**
 * An adoption under way: which state of which pool is restored. `at` is ISO 8601 in UTC.
 *
 * `ports` are MAC addresses of the kept state and those of the ports that take their place. `problem`
 * is why it stopped. `again`: this server had the pool before another one used it. `without` is left out.
 */
export interface Adoption {
    schema_version: 1;
    pool: string;
    generation: number;
    by: string;
    at: string;
    secrets: boolean;
    ports: Record<string, string>;
    problem: string | null;
    again: boolean;
    without: ("people" | "password" | "ssh-keys" | "ssh" | "update-keys" | "updates" | "alerts" | "backups" | "journal" | "client-networks" | "readers" | "replicas" | "network")[];
}

/** The step of an adoption that is under way; `done` are those before it, of `total`. */
export interface AdoptionProgress {
    step: "files" | "accounts" | "ports" | "services" | "pool";
    done: number;
    total: number;
}

/** `millrace alert list --json`: the open alerts, the worst first; `waiting` messages are not delivered yet. */
export interface AlertList {
    schema_version: 1;
    alerts: ListedAlert[];
    waiting: number;
}

/** `millrace tuner apply --json`: the settings that are in the policy now, by their keys. */
export interface Applied {
    schema_version: 1;
    run: string;
    source: string;
    values: Record<string, number | string>;
}

/** One thing that is created, changed or removed, as `share data`. */
export interface ApplyChange {
    thing: string;
    action: "create" | "change" | "remove";
    keys: ApplyKey[];
}

/** A key that differs; null where it is not decided. Secrets are not in it. */
export interface ApplyKey {
    key: string;
    before: JsonValue;
    after: JsonValue;
}

/**
 * `millrace apply --json`. `applied` is false with --check and where nothing was to be done.
 *
 * `serial` is the change of the desired state; null where it stayed. `without_password` are accounts that cannot sign
 * in yet. `confirm_seconds` is the time to confirm a change of the network; null where it stayed.
 */
export interface ApplyReport {
    schema_version: 1;
    file: string;
    applied: boolean;
    serial: number | null;
    changes: ApplyChange[];
    verified: string[];
    warnings: string[];
    without_password: string[];
    confirm_seconds: number | null;
}

/**
 * The approval of a plan. `by` is a user name, or `credential`. `layout`: the one that was chosen, None for the one
 * that this server proposes.
 */
export interface Approval {
    schema_version: 1;
    sha256: string;
    by: string;
    at: string;
    layout: string | null;
}

/**
 * One array. `uuid` in mdadm's form (four groups of eight hex digits, colons between).
 *
 * `members` are in the order of md's slots. One that is missing stays until another is in sync in its slot.
 */
export interface ArrayRecord {
    array: MdArray;
    uuid: string;
    members: MemberRecord[];
    spares: MemberRecord[];
}

/**
 * The checks of one array, and the last repair; null where there is none.
 *
 * `repair` is one that an administrator has confirmed and that has not come to its end. `clean` is when the last check
 * began that found no mismatch.
 */
export interface ArrayScrub {
    array: string;
    uuid: string;
    last: Scrubbed | null;
    clean: string | null;
    under_way: UnderWay | null;
    repair: Repair | null;
    repaired: Repaired | null;
    retired: RetiredRows[];
}

/** A certificate that a route trusts. `not_after` is ISO 8601 in UTC. */
export interface Authority {
    subject: string;
    not_after: string;
}

/**
 * A backup of `share`, as an administrator decided.
 *
 * A run is due every `every` hours, a check of the repository every `check_every`, a drill every `drill_every` hours.
 * `append_only`: the target lets this server add and not remove, so retention is the task of its administrator.
 * `limit` is the most bytes a second that are sent; null without one. `host_key` is the fingerprint of the SFTP
 * server. `attached`: the repository existed before. `id` names it in the repository.
 */
export interface Backup {
    name: string;
    id: string;
    share: string;
    target: BackupTarget;
    every: number;
    check_every: number;
    drill_every: number;
    retention: BackupRetention;
    append_only: boolean;
    limit: number | null;
    host_key: string | null;
    attached: boolean;
    paused: boolean;
    by: string;
    at: string;
}

/**
 * A backup that was added. `password` opens the repository: it is in this answer and nowhere else.
 *
 * Null where it was typed. `public_key` has to be installed on an SFTP server, whose host key has the fingerprint
 * `backup.host_key`.
 */
export interface BackupAdded {
    schema_version: 1;
    backup: Backup;
    password: string | null;
    public_key: string | null;
}

/** How a task ended that did what it should, in words for people. */
export interface BackupEnd {
    schema_version: 1;
    id: string;
    backup: string;
    task: "run" | "check" | "drill" | "restore";
    words: string[];
}

/** The backups of this server. */
export interface BackupList {
    schema_version: 1;
    backups: BackupRow[];
}

/**
 * What a run moved: files of the snapshot, those that were read, and bytes that were sent.
 *
 * `unread` files and directories of the snapshot could not be read, and are not in the version.
 */
export interface BackupMoved {
    files: number;
    read: number;
    bytes: number;
    sent: number;
    seconds: number;
    unread: number;
}

/**
 * How the last task of a kind ended. Times are ISO 8601 in UTC; `problem` is null where it succeeded.
 *
 * `succeeded` is when it last did, `failures` how often it failed since then. `red`: what was read back was wrong, or
 * could not be decrypted, so the repository or the pool is damaged.
 */
export interface BackupOutcome {
    at: string;
    succeeded: string | null;
    problem: string | null;
    failures: number;
    red: boolean;
}

/** The password of a repository, which was shown on request. */
export interface BackupPassword {
    schema_version: 1;
    name: string;
    password: string;
}

/** A backup whose tasks start by themselves or do not; one that was removed is paused for ever. */
export interface BackupPaused {
    schema_version: 1;
    name: string;
    paused: boolean;
}

/** How far a task is: bytes of all; `total` is null where that is not known. `step` names the part of it. */
export interface BackupProgress {
    schema_version: 1;
    backup: string;
    task: "run" | "check" | "drill" | "restore";
    step: string;
    done: number;
    total: number | null;
    seconds_left: number | null;
}

/** How many versions are kept by period; the newest one always is. */
export interface BackupRetention {
    daily: number;
    weekly: number;
    monthly: number;
}

/**
 * A backup with what is known of it.
 *
 * `age` is in seconds since the last success, null where there was none. `due` is what is due now.
 */
export interface BackupRow {
    schema_version: 1;
    backup: Backup;
    state: BackupState;
    age: number | null;
    due: "run" | "check" | "drill" | "restore" | null;
}

/**
 * What is known of a backup; `name` and `id` are those of its decision.
 *
 * `snapshot` is the one of the share that was backed up last, and `version` its ID in the repository; the next run
 * compares with both. `made`: the repository exists.
 */
export interface BackupState {
    name: string;
    id: string;
    made: boolean;
    snapshot: string | null;
    version: string | null;
    moved: BackupMoved | null;
    run: BackupOutcome | null;
    check: BackupOutcome | null;
    drill: BackupOutcome | null;
}

/**
 * Where a repository is; no part of it is secret.
 *
 * `path` is absolute for SFTP, BUCKET/PREFIX for S3. `user` signs in: the account of SFTP or of the REST server, or
 * the ID of an S3 key. `tls` is whether the connection is encrypted by TLS.
 */
export interface BackupTarget {
    protocol: "s3" | "sftp" | "rest";
    host: string;
    port: number;
    path: string;
    user: string | null;
    tls: boolean;
}

/** A version in the repository: its ID, the share and the snapshot, when it was made (ISO 8601), and its size. */
export interface BackupVersion {
    id: string;
    share: string;
    snapshot: string;
    time: string;
    files: number;
    bytes: number;
}

/** The versions in a repository, the oldest first. */
export interface BackupVersions {
    schema_version: 1;
    name: string;
    versions: BackupVersion[];
}

/**
 * What settings are computed from: the hardware, the arrays of the pool and the policy in force.
 *
 * `link` is what the PCIe link of the slowest drive carries at most, in KB/s; `ports` are those for data, by
 * `port_kinds`.
 */
export interface Basis {
    server: Server;
    link: number;
    arrays: DataArrays;
    policy: RuntimePolicy;
    ports: string[];
}

/** A client: `name` as it was added, `address` as the name was then. */
export interface BenchClient {
    name: string;
    address: string;
    added: string;
    facts: ClientFacts;
}

/** `millrace bench clients list --json`, and those that are there after `add` or `remove`. */
export interface BenchClients {
    schema_version: 1;
    clients: BenchClient[];
}

/** Expected duration and size of a run: seconds, bytes in the pool at most, bytes written in all. */
export interface BenchEstimate {
    schema_version: 1;
    mode: "quick" | "full";
    seconds: number;
    space: number;
    written: number;
    repeats: number;
    repeat_seconds: number;
    rungs: PlannedRung[];
    obstacles: string[];
}

/** A rung's height: each drive, array and file system, a protocol on the loopback, real clients. */
export type BenchLayer = "L0" | "L1" | "L2" | "L3";

/** A kind of load. */
export type BenchProfile = "seq" | "rand" | "mixed" | "fsync" | "meta" | "unet3d" | "retinanet" | "checkpoint" | "kvcache" | "connections";

/**
 * One line of `millrace bench follow --json`.
 *
 * `progress` is 0..1. `bandwidth` (bytes/s) and `operations` (1/s) are of about the last second. `finished` is the
 * rung that has just ended, with its result. The last line of a run has a state that is not `running`.
 */
export interface BenchProgress {
    schema_version: 1;
    run: string;
    time: number;
    state: BenchState;
    what: string;
    rung: string | null;
    step: number;
    steps: number;
    repeat: number | null;
    repeats: number | null;
    progress: number;
    seconds_left: number | null;
    bandwidth: number | null;
    operations: number | null;
    finished: Rung | null;
}

/** One run. */
export interface BenchRun {
    schema_version: 1;
    id: string;
    started: string;
    ended: string | null;
    state: BenchState;
    reason: string | null;
    request: RunRequest;
    labels: ("degraded" | "rebuilding" | "with-clients" | "emulated" | "imported")[];
    provenance: Provenance;
    environment: Environment;
    rungs: Rung[];
}

/** `millrace bench list --json`, newest first. `broken` names directories that hold no run. */
export interface BenchRunList {
    schema_version: 1;
    runs: BenchRunSummary[];
    broken: string[];
}

/** One line of the list. `done` and `rungs` count workloads. */
export interface BenchRunSummary {
    id: string;
    started: string;
    ended: string | null;
    state: BenchState;
    reason: string | null;
    mode: "quick" | "full";
    layers: BenchLayer[];
    profiles: BenchProfile[];
    labels: ("degraded" | "rebuilding" | "with-clients" | "emulated" | "imported")[];
    workload_hash: string;
    done: number;
    rungs: number;
    headlines: Headline[];
}

/** `millrace bench start --json`. */
export interface BenchStarted {
    schema_version: 1;
    run: string;
    unit: string;
    estimate: BenchEstimate;
}

/** How far a run, or one of its rungs, is. */
export type BenchState = "pending" | "running" | "done" | "skipped" | "failed" | "stopped" | "interrupted";

/** `millrace bench stop --json`. `running` is whether a run was active, `removed` what was removed. */
export interface BenchStopped {
    schema_version: 1;
    running: boolean;
    removed: string[];
}

/** A port of a bond. It is known by `mac`: `name` follows the slot of its card. */
export interface BondPort {
    mac: string;
    name: string;
}

/**
 * A drive of this server. `size_bytes` in bytes.
 *
 * `holds` is what was found on it, null on a blank one; it is lost. `refused` is why this version is not written to
 * it, null where it may be; `foreign`: only with --foreign.
 */
export interface BootCandidate {
    name: string;
    serial: string;
    model: string;
    size_bytes: number;
    holds: string | null;
    refused: string | null;
    foreign: boolean;
}

/** What the TPM asks for from now on: the owner's signature of the kernel image, and with `secure_boot` its keys. */
export interface Bound {
    schema_version: 1;
    device: string;
    secure_boot: boolean;
}

/**
 * When the pool is full, from the median of its growth between all pairs of days of the last three months.
 *
 * `days` are those with a value; without enough of them, `bytes_per_day` is null. `full_in_days` is null where the
 * pool does not grow, or is full in more than ten years. `earliest` and `latest` are with the quartiles of the growth;
 * `latest` is null where one of them is no growth. `sentence` says all of it.
 */
export interface CapacityForecast {
    days: number;
    bytes_per_day: number | null;
    full_in_days: number | null;
    earliest: number | null;
    latest: number | null;
    sentence: string;
}

/** What a rung could have reached: the plan's prediction and the layer below, and what part of them it did reach. */
export interface Ceiling {
    predicted: number | null;
    predicted_by: string | null;
    of_predicted: number | null;
    below: string | null;
    below_measured: number | null;
    of_below: number | null;
}

/** The fields of one certificate. Times are ISO 8601 in UTC; `fingerprint` is the SHA-256 that browsers show. */
export interface Certificate {
    subject: string;
    issuer: string;
    names: string[];
    addresses: string[];
    not_before: string;
    not_after: string;
    fingerprint: string;
    authority: boolean;
    purposes: string[];
}

/** What a change did. `changed` is false where nothing had to be done; `warnings` are sentences. */
export interface CertificateChange {
    schema_version: 1;
    changed: boolean;
    reason: string;
    origin: "own" | "installed";
    certificate: Certificate;
    warnings: string[];
}

/**
 * The certificate in use and the trusted CAs.
 *
 * `authority` is this server's own CA, `trusted` are those whose certificates an mtls client may use (the own one
 * among them). `client_trust` is what a client must trust as PEM text, the next own CA included; null where a
 * public CA or the site's CA issued the certificate and did not come with it. `succession` is the next own CA; null
 * where it was not made yet. `days_left` is negative after the end.
 */
export interface CertificateReport {
    schema_version: 1;
    origin: "own" | "installed";
    certificate: Certificate;
    chain: number;
    days_left: number;
    settings: CertificateSettings;
    authority: Certificate;
    trusted: Certificate[];
    client_trust: string | null;
    succession: Succession | null;
}

/** A request for a CA to sign; its key stays here. */
export interface CertificateRequest {
    schema_version: 1;
    names: string[];
    addresses: string[];
    pem: string;
}

/** Additional names of this server, such as an alias in the DNS. */
export interface CertificateSettings {
    schema_version: 1;
    names: string[];
}

/**
 * A changing verb that an account ran. `status` is its exit status, null while it runs and where it was killed.
 *
 * `when` is ISO 8601 in UTC. `words` are what was typed after `millrace`; secrets are never among them.
 */
export interface ChangeEntry {
    when: string;
    name: string;
    role: "administrator" | "operator" | "viewer" | null;
    origin: "page" | "command line";
    words: string;
    status: number | null;
}

/** The changing verbs that people ran, newest first. */
export interface ChangeLog {
    schema_version: 1;
    changes: ChangeEntry[];
}

/**
 * How far a change is: steps done, steps in all, the active one, null where there is none.
 *
 * While md fills the new drive, `progress` is from 0 to 1, with its rate and the seconds that are left; null else.
 */
export interface ChangeProgress {
    schema_version: 1;
    change: DriveChange;
    done: number;
    total: number;
    step: string | null;
    progress: number | null;
    bytes_per_second: number | null;
    seconds_left: number | null;
}

/** The result of a change of the shares `names`. `share` is null where it was removed, or several were created. */
export interface ChangeReport {
    schema_version: 1;
    serial: number;
    share: Share | null;
    names: string[];
    verified: string[];
    warnings: string[];
}

/**
 * A drive that takes part in a change. `bay` is its bay or slot, the last one of a drive that is missing.
 *
 * `model` is empty and `size`, in bytes, null where a drive is missing and no record has them. `discard`: whether the
 * new drive guarantees that deallocated blocks read as zeroes.
 */
export interface ChangedDrive {
    serial: string;
    wwid: string;
    bay: string | null;
    model: string;
    size: number | null;
    discard: boolean | null;
}

/**
 * How fast checks read, and how long all of them take. Rates in KiB/s of each drive.
 *
 * A check gets `least_kib` also beside busy clients, and reads `most_kib` at most. All arrays are checked in
 * `windows` of the policy's windows, once in `days`; null for a policy without a period, or where a window ends before
 * a check begins. `kept` is whether that is the period of the policy, and `todo` what would keep it otherwise.
 */
export interface CheckPace {
    least_kib: number;
    most_kib: number;
    windows: number | null;
    days: number | null;
    kept: boolean;
    todo: string | null;
}

/** Whether the one-time password was removed from the console. */
export interface CheckReport {
    schema_version: 1;
    forgotten: boolean;
}

/** What a checkpoint of a whole model takes at the measured speed; `measured` bytes were really moved. */
export interface CheckpointTimes {
    model: string;
    size: number;
    measured: number;
    save_seconds: number | null;
    load_seconds: number | null;
}

/** What the program on a client reports about it. Memory in bytes; `rdma` is whether it has an RDMA device. */
export interface ClientFacts {
    program: number;
    host: string;
    fio: string;
    kernel: string;
    cpus: number;
    memory: number;
    rdma: boolean;
}

/** A file to write on the client; `mode` as chmod takes it. */
export interface ClientFile {
    path: string;
    mode: string;
    text: string;
}

/**
 * `millrace share networks list`: to which networks NFS is exported where a share names no clients.
 *
 * `policy` are those of the policy, which win; `confirmed` those that an administrator confirmed. None in both means
 * that NFS is closed. `found` are the networks of this server's ports.
 */
export interface ClientNetworks {
    schema_version: 1;
    policy: string[];
    confirmed: string[];
    found: FoundNetwork[];
}

/**
 * One client. `lanes` are its TCP connections (NFS) or channels (SMB), null where they cannot be counted.
 *
 * `slots` is how many requests an NFS session has room for; `name` what the client calls itself, or the SMB user.
 * SMB Direct: `host` is empty where the server does not know it, `open_files` null where there are several clients.
 */
export interface ClientSession {
    protocol: "nfs" | "smb";
    host: string;
    name: string;
    version: string;
    transport: "tcp" | "rdma" | "unknown";
    lanes: number | null;
    slots: number | null;
    encryption: string | null;
    open_files: number | null;
}

/** How another operating system than Linux opens the share. No step has a password: each asks for it. */
export interface ClientSystem {
    name: "windows" | "macos";
    steps: SystemStep[];
}

/** What the client does with the share. */
export type ClientWorkload = "training" | "checkpoint" | "dataloader" | "kvcache" | "mixed";

/**
 * The last clone. `inode` is that of its directory, `share` whether it became a share of its own.
 *
 * `changed` entries were removed or replaced by clients meanwhile, `skipped` are devices and what is mounted.
 */
export interface Clone {
    schema_version: 1;
    id: string;
    source: string;
    target: string;
    sealed: boolean;
    share: boolean;
    by: string;
    state: "running" | "done" | "failed" | "cancelled" | "interrupted";
    boot: string;
    began: string;
    ended: string | null;
    reason: string | null;
    entries: number;
    changed: number;
    skipped: number;
    seconds: number;
    inode: number | null;
    verified: string[];
    warnings: string[];
}

/**
 * What a clone needs, and whether it fits; `obstacle` is why it does not.
 *
 * `seconds` follows from the rate of the last clone of this server (`measured`), else from a usual one. `metadata` are
 * the bytes of the pool that are written, `charged` the bytes that count against the quota of the target.
 */
export interface CloneForecast {
    schema_version: 1;
    source: string;
    target: string;
    entries: number;
    charged: number;
    metadata: number;
    seconds: number;
    measured: boolean;
    obstacle: string | null;
}

/** How far a clone is: files and directories done of all that were counted; `total` is null while it counts. */
export interface CloneProgress {
    schema_version: 1;
    source: string;
    target: string;
    phase: "count" | "clone" | "serve";
    done: number;
    total: number | null;
    seconds_left: number | null;
}

/** The last clone of this server, and how far it is where it is under way. */
export interface CloneStatus {
    schema_version: 1;
    clone: Clone | null;
    progress: CloneProgress | null;
}

/** `millrace bench compare A B --json`. `incomparable` are rungs that only one run has, or whose work differs. */
export interface Comparison {
    schema_version: 1;
    first: string;
    second: string;
    labels: string[];
    changes: FigureChange[];
    incomparable: string[];
}

/**
 * The desired state. `serial` numbers the change that made it; the `next_…` are never given out twice.
 *
 * `management` are the MAC addresses of ports that serve the web console only, wherever their addresses come from.
 * `admin` is the administrator of the first boot.
 */
export interface Config {
    schema_version: 1;
    serial: number;
    next_id: number;
    next_project: number;
    shares: DesiredShare[];
    users: User[];
    groups: Group[];
    ports: DesiredPort[];
    nfs: NfsServer;
    management: string[];
    domain: Domain | null;
    network: DesiredNetwork;
    admin: Person;
}

/** The rendered files that differ; `files_compared` is how many there are in all. */
export interface ConfigDiff {
    schema_version: 1;
    files_compared: number;
    files: FileDiff[];
}

/** The changes that are kept, newest first. */
export interface ConfigHistory {
    schema_version: 1;
    changes: HistoryEntry[];
}

/** An address that has connections to the port of a volume. */
export interface ConnectedHost {
    address: string;
    connections: number;
}

/** All connections. `host_nqn`: what a target knows this server by and must allow, "" before it has one. */
export interface ConnectionList {
    schema_version: 1;
    host_nqn: string;
    connections: ConnectionRow[];
}

/** A change: how the connection is now, None where it was removed, and what to know about it. */
export interface ConnectionReport {
    schema_version: 1;
    nqn: string;
    connection: ConnectionRow | null;
    done: string;
    warnings: string[];
}

/** One connection with its paths and block devices as they are now. */
export interface ConnectionRow {
    nqn: string;
    host_nqn: string;
    transport: "tcp" | "rdma";
    port: number;
    authenticated: boolean;
    paths: PathRow[];
    namespaces: NamespaceRow[];
}

/** How far a copy is, in bytes and in files, directories and links; `rate` in bytes a second; totals are counted. */
export interface CopyProgress {
    schema_version: 1;
    state: "running";
    entries: number;
    bytes: number;
    total_entries: number;
    total_bytes: number;
    rate: number;
    seconds_left: number | null;
}

/**
 * What a copy has done; `id` is that of its order. `kept` files were there from an earlier copy.
 *
 * Not copied: `unreadable` files and directories, which the source server does not let this server read; `changed`,
 * which changed while they were read; `skipped` devices, pipes and sockets.
 */
export interface CopyReport {
    schema_version: 1;
    state: "done";
    id: string;
    source: string;
    target: string;
    entries: number;
    bytes: number;
    kept: number;
    unreadable: number;
    changed: number;
    skipped: number;
}

/**
 * A job that runs or waits: a kind of long work, or what md does with an array.
 *
 * `what` is its object, `progress` is from 0 to 1, `seconds_left` the time that it still takes, `bytes_per_second` the
 * rate on each drive, `by` the user who ordered it; null is not known. `after_boot` is what becomes of it when the
 * server restarts. `cancellable` says whether it can be cancelled now, `why` why it never can.
 */
export interface CurrentJob {
    name: "provision" | "drive-change" | "erase" | "drive-test" | "rescue" | "revive" | "adopt" | "clone" | "copy" | "snapshot" | "replica" | "backup" | "permissions" | "benchmark" | "tuner" | "update-download" | "update" | "scrub" | "damaged-files" | "unclean" | "trim" | "reset" | "destroy" | "first synchronisation" | "rebuild" | "check" | "repair" | "reshape";
    title: string;
    what: string;
    state: "running" | "waiting" | "done" | "failed" | "cancelled" | "interrupted";
    progress: number | null;
    seconds_left: number | null;
    bytes_per_second: number | null;
    by: string | null;
    after_boot: "continues" | "continues in its window" | "ends" | "is confirmed again";
    cancellable: boolean;
    why: string | null;
}

/**
 * Files in doubt, relative to the pool. `others` is what else is in these areas: free space, metadata of XFS.
 *
 * `notes` is what is damaged and has no known place, and which names are not listed. `complete` is false where not all
 * names could be searched.
 */
export interface DamagedFiles {
    schema_version: 1;
    sectors: number;
    files: string[];
    others: string[];
    notes: string[];
    complete: boolean;
}

/**
 * The arrays of the data, as far as settings depend on them.
 *
 * `legs` redundant arrays of `members` drives each, their chunk and the full stripe of all of them in bytes (None, 0
 * for a mirror), and whether they have parity. `external`: there are none, the full stripe is that of the device.
 */
export interface DataArrays {
    legs: number;
    members: number;
    chunk: number | null;
    full_stripe: number;
    parity: boolean;
    external: boolean;
}

/**
 * One decision: what, why (one sentence) and from where (seed, fact, measurement, policy).
 *
 * `considered` are the choices that were compared, best first, each with the same keys and its numbers.
 */
export interface Decision {
    name: string;
    value: JsonValue;
    reason: string;
    source: string;
    considered: Record<string, JsonValue>[];
}

/** Whether reads of a degraded array that need no missing drive bypass md's stripe cache (rebuilt raid456 only). */
export interface DegradedReads {
    direct: boolean;
}

/** Ports that are one link. `lacp` needs a switch that speaks IEEE 802.1AX, `active-backup` needs nothing. */
export interface DesiredBond {
    name: string;
    addresses: string[];
    gateway: string | null;
    dhcp: boolean;
    mtu: number | null;
    mode: "lacp" | "active-backup";
    members: BondPort[];
}

/** Everything beside ports. Empty lists of servers leave those of DHCP in force. */
export interface DesiredNetwork {
    bonds: DesiredBond[];
    vlans: DesiredVlan[];
    routes: DesiredRoute[];
    dns: string[];
    search: string[];
    ntp: string[];
}

/** What an administrator decided of an Ethernet port. It is known by `mac`: `name` follows the slot of its card. */
export interface DesiredPort {
    name: string;
    addresses: string[];
    gateway: string | null;
    dhcp: boolean;
    mtu: number | null;
    mac: string;
}

/** A static route to a network through a gateway, which is in the network of a link. */
export interface DesiredRoute {
    network: string;
    gateway: string;
}

/**
 * One directory of the pool that clients mount.
 *
 * Sizes in bytes. `project` is its number for XFS quotas, given once. `fsid` is stored only where it must stay as it
 * was elsewhere; else it follows from the file system and the name. `sealed`: no client writes it, and it is neither
 * changed to be written nor removed before an administrator unseals it. `child_size` limits each directory at its top.
 * `snapshots` are those that are made by themselves; None is none. `replica` is the share of another server that it is
 * a replica of: nobody opens it before it is promoted. `readers` are servers that may read its snapshots.
 *
 * `writing` is who may write: all users of the share (`together`; with a `group` its members), each user their own
 * files (`own`, also of a state from before there was this field), or the members of `group` while all others read
 * (`some`). The types home and dataset-ro have rules of their own. `type` was `profile` in builds of 0.1.0 before its
 * release, also on pools that they keep their state on.
 */
export interface DesiredShare {
    name: string;
    type: "training" | "checkpoint" | "dataset-ro" | "home" | "mixed";
    comment: string;
    size: number | null;
    soft_size: number | null;
    project: number;
    fsid: string | null;
    nfs: Nfs;
    smb: Smb;
    sealed: boolean;
    child_size: number | null;
    writing: "together" | "own" | "some";
    group: string | null;
    snapshots: SnapshotSchedule | null;
    replica: ReplicaSource | null;
    readers: SnapshotReader[];
}

/** A VLAN on a port, by its MAC address, or on a bond, by its name, which `parent_name` has of both. */
export interface DesiredVlan {
    name: string;
    addresses: string[];
    gateway: string | null;
    dhcp: boolean;
    mtu: number | null;
    vlan: number;
    parent: string;
    parent_name: string;
}

/** How far a destruction is: steps done, steps in all, the step of now. */
export interface DestroyProgress {
    schema_version: 1;
    done: number;
    total: number;
    step: string | null;
}

/**
 * What the destruction of the pool ends and leaves, and whether one can begin (`millrace pool destroy --status`).
 *
 * `name` is the host name, which is typed to confirm it: a server has one pool, which has no other name. `pool` is the
 * UUID of its file system, null without one. `used` are bytes of all files, null where the pool is not mounted.
 * `clients` are connected now; `jobs` use the pool and are ended where that was asked for. `obstacle` is why none can
 * begin, `in_use` why it is refused unless what uses the pool is ended. `last` is the one under way, else the last.
 */
export interface DestroyStatus {
    schema_version: 1;
    name: string;
    pool: string | null;
    used: number | null;
    shares: DestroyedShare[];
    volumes: DestroyedVolume[];
    drives: DestroyedDrive[];
    clients: ClientSession[];
    jobs: ("provision" | "drive-change" | "erase" | "drive-test" | "rescue" | "revive" | "adopt" | "clone" | "copy" | "snapshot" | "replica" | "backup" | "permissions" | "benchmark" | "tuner" | "update-download" | "update" | "scrub" | "damaged-files" | "unclean" | "trim" | "reset" | "destroy")[];
    obstacle: string | null;
    in_use: string | null;
    last: Destruction | null;
    running: boolean;
}

/** A drive of the pool. `here`: it is in this server and is wiped; one that is not still carries its part. */
export interface DestroyedDrive {
    serial: string;
    bay: string | null;
    here: boolean;
}

/** A share that is lost with its data; `used` in bytes, null where it is not known. */
export interface DestroyedShare {
    name: string;
    used: number | null;
}

/** A volume that is lost with its data; `size` in bytes. `exported`: a host may use it now. */
export interface DestroyedVolume {
    name: string;
    size: number;
    exported: boolean;
}

/**
 * The destruction of a pool (`/var/lib/millrace/pool-destruction.json`, at its end `pool-destroyed.json`).
 *
 * `pool` is the pool as it was, `drives` all drives with partitions of it, `whole` members without any, which were
 * added by hand. `by` is a user name, `at` and `ended` are UTC, ISO 8601. `ends`: jobs and clients that use the pool
 * are ended. `left` are the drives that were not wiped. `error` is why it stopped.
 */
export interface Destruction {
    schema_version: 1;
    pool: Pool;
    drives: DriveRecord[];
    whole: MemberRecord[];
    by: string;
    at: string;
    ends: boolean;
    shares: string[];
    steps: StepRecord[];
    left: LeftDrive[];
    ended: string | null;
    error: string | null;
}

/** One memory module: bytes, and the transfers per second in millions that it is run at (None: not known). */
export interface Dimm {
    size: number;
    speed: number | null;
}

/**
 * Users and groups that may open a share over SMB Direct, from every machine that reaches the RDMA ports.
 *
 * `obstacle` is why the server does not serve it.
 */
export interface DirectAccess {
    users: string[];
    groups: string[];
    obstacle: string | null;
}

/** The result of `millrace share disconnect`: how many SMB clients had the share open. */
export interface DisconnectReport {
    schema_version: 1;
    share: string;
    clients: number;
}

/**
 * An Active Directory domain that this server is a member of, written when it was joined.
 *
 * `machine` is the account of this server there, without the dollar; `dns` the addresses that know the domain, none
 * where the name servers of the network do.
 */
export interface Domain {
    realm: string;
    workgroup: string;
    machine: string;
    dns: string[];
}

/**
 * The membership as it is now. Null is what could not be read, and `problems` are why.
 *
 * `clock_offset` in seconds, positive where the domain is ahead; `trusted` is whether the domain accepts the machine
 * password, `winbind` whether its daemon answers.
 */
export interface DomainReport {
    schema_version: 1;
    domain: Domain | null;
    host_name: string | null;
    controller: string | null;
    winbind: boolean | null;
    trusted: boolean | null;
    clock_offset: number | null;
    keys: Key[];
    ids: IdRange | null;
    other_ids: IdRange | null;
    problems: string[];
}

/**
 * One setting that is not as planned. `changed` is False for `--diff`, which only compares.
 *
 * `path` is a file, or the command that sets it.
 */
export interface Drift {
    path: string;
    before: string;
    wanted: string;
    reason: string;
    changed: boolean;
}

/**
 * How a drill ended: `files` of a snapshot were restored and compared with the source, `bytes` in all.
 *
 * `different` of them are not what the source has.
 */
export interface DrillReport {
    schema_version: 1;
    id: string;
    share: string;
    snapshot: string;
    at: string;
    files: number;
    bytes: number;
    different: number;
}

/**
 * One drive as the kernel's block device for it. Sizes in bytes.
 *
 * `name` (nvme3n1) is for display and changes between boots; `serial` and `wwid` are the identity. What follows
 * `evidence` is None or empty where it is not reported: `dlfeat` as in the NVMe specification, `max_discard` what the
 * drive deallocates with one request, 0 where it cannot, `temperature` in
 * degrees Celsius, `wear` in percent of the rated endurance, `critical_warning` the bits of the NVMe health log,
 * `available_spare` and its `spare_threshold` in percent,
 * `slot` the PCIe slot, `bay` the bay of an enclosure, `switch` the PCI address of the PCIe switch above the drive.
 * `links` are its names in /dev/disk/by-id; `minimum_io` and `optimal_io` the sizes of requests that it prefers
 * (chunk and full stripe of a RAID), 0 for none. `opal` is null where a drive cannot lock itself, too.
 */
export interface Drive {
    name: string;
    serial: string;
    wwid: string;
    model: string;
    firmware: string;
    transport: string;
    size: number;
    logical_block: number;
    physical_block: number;
    rotational: boolean;
    removable: boolean;
    pci_address: string | null;
    numa_node: number | null;
    link: PcieLink | null;
    state: DriveState;
    evidence: Evidence[];
    eui64: string | null;
    nguid: string | null;
    lba_formats: LbaFormat[];
    dlfeat: number | null;
    max_discard: number | null;
    volatile_write_cache: boolean | null;
    temperature: number | null;
    wear: number | null;
    critical_warning: number | null;
    available_spare: number | null;
    spare_threshold: number | null;
    slot: string | null;
    bay: string | null;
    switch: string | null;
    links: string[];
    minimum_io: number | null;
    optimal_io: number | null;
    opal: "off" | "unlocked" | "locked" | null;
}

/**
 * A confirmed change, its own write-ahead journal (`/var/lib/millrace/drive-change.json`).
 *
 * `by` is a user name, `at` and `ended` are UTC, ISO 8601. `drive` has the identities that the new drive gets. `error`
 * is why it does not go on, or why it ended without being done.
 */
export interface DriveChange {
    schema_version: 1;
    id: string;
    sha256: string;
    by: string;
    at: string;
    plan: DrivePlan;
    drive: DriveRecord | null;
    steps: StepRecord[];
    ended: string | null;
    error: string | null;
}

/** A drive that took part. */
export interface DriveFact {
    serial: string;
    model: string;
    firmware: string;
    size: number;
    role: string;
    link: string | null;
    temperature: number | null;
}

/** All drives: those that are here and those that the pool misses, in the order of their bays. */
export interface DriveList {
    schema_version: 1;
    drives: DriveRow[];
}

/**
 * One drive as it is found at the rack and on the command line; `bay` is its bay or slot in words, null where the
 * server does not report it, `name` the kernel name of this boot.
 */
export interface DriveName {
    bay: string | null;
    name: string;
    serial: string;
}

/**
 * What a change writes. `partitions` are those of `new`, in the order in which they lie on it.
 *
 * `leaves` are the arrays that `old` is removed from at the end, `fewer_spares` those of them that have one hot spare
 * less from then on. `grows` are partitions that are enlarged, for `array`, which then has `gain` bytes more. `legs`:
 * it lies over these, which grow first; it uses them after the next start, by a second change with neither.
 */
export interface DrivePlan {
    verb: "replace" | "add" | "remove" | "grow";
    old: ChangedDrive | null;
    new: ChangedDrive | null;
    partitions: NewPartition[];
    leaves: string[];
    fewer_spares: string[];
    grows: GrownPartition[];
    array: string | null;
    gain: number;
    legs: string[];
}

/**
 * A change that is possible now: its plan, the hash that confirms it, its steps in words.
 *
 * `differences` are sentences on what sets the new drive apart from its neighbours: link, model, firmware, sectors.
 */
export interface DriveProposal {
    schema_version: 1;
    sha256: string;
    plan: DrivePlan;
    steps: string[];
    differences: string[];
}

/** All drives of the pool together; `latency_seconds` is the mean of their requests. */
export interface DriveRates {
    read_bytes_per_second: number | null;
    write_bytes_per_second: number | null;
    latency_seconds: number | null;
}

/**
 * One drive with our partition table, its partitions in the order in which they lie on it.
 *
 * `discard`: whether discards may reach it; None where it was added before that was recorded. `start`: where the first
 * partition begins, in bytes.
 */
export interface DriveRecord {
    serial: string;
    wwid: string;
    disk_label: string;
    partitions: PartitionRecord[];
    discard: boolean | null;
    start: number;
}

/** One drive. */
export interface DriveReport {
    schema_version: 1;
    drive: DriveRow;
}

/** The part that one drive plays. `partitions` are made on it, in the order in which they lie on it. */
export interface DriveRole {
    serial: string;
    wwid: string;
    model: string;
    size: number;
    state: DriveState;
    role: Role;
    partitions: PlannedPartition[];
    reason: string;
}

/**
 * One drive of this server, or one that its pool misses.
 *
 * `serial` is empty and `name` null where the drive or the kernel has none; `bay` is the bay, else the slot, of a
 * drive that is gone the last one. `arrays` are those that it belongs to; the external device of a pool, with the role
 * backend, is in none. `what` was found on it or is the reason of the verdict, `too_small_by` the number of bytes that
 * a blank drive lacks. `returned` is a member that is back and not in its array; `unknown` a drive that was not
 * examined or whose examination failed.
 *
 * The rest is what the drive itself said last, null where it did not: degrees Celsius, percent, counts, hours. A drive
 * that is gone has no temperature.
 * `wear_ends` is the day on which its rated endurance is used up at the rate of the last year, `last_seen` a day, too.
 * `test` is the last test of the drive, null where this server has not tested it; `testing` is how far the one that
 * goes on is, null where none does. `test_seconds` is how long a full test of a drive that may be tested now is
 * expected to take.
 * `opal` is whether the drive can lock itself and whether it did when it was examined, null where it cannot.
 * `needs_bytes` is the size of the smallest blank drive that can take its place, null where it cannot be replaced now.
 * `actions` are those that would not be refused now as far as is known without a command to a drive; `replace` is one
 * where a drive that fits is there.
 */
export interface DriveRow {
    serial: string;
    name: string | null;
    bay: string | null;
    model: string;
    firmware: string;
    size_bytes: number | null;
    role: "data" | "log" | "spare" | "backend" | "boot" | "none";
    arrays: string[];
    verdict: "in-sync" | "rebuilding" | "spare" | "faulty" | "missing" | "returned" | "blank" | "too small" | "foreign" | "other pool" | "boot" | "unknown";
    what: string | null;
    too_small_by: number | null;
    temperature_celsius: number | null;
    wear_percent: number | null;
    wear_ends: string | null;
    spare_percent: number | null;
    media_errors: number | null;
    power_on_hours: number | null;
    last_seen: string | null;
    opal: "off" | "unlocked" | "locked" | null;
    needs_bytes: number | null;
    test: DriveTest | null;
    testing: DriveTestProgress | null;
    test_seconds: number | null;
    actions: ("replace" | "add" | "remove" | "erase" | "locate" | "test")[];
}

/** What is on a drive. UNKNOWN outranks everything: a probe that failed proves nothing. */
export type DriveState = "blank" | "ours" | "foreign" | "unknown" | "boot";

/**
 * One test of a drive, by the `id` of its order; `boot` is the kernel's id of its boot.
 *
 * `reason` is why it did not pass, `remarks` what is worth knowing of one that did; `blank` whether the drive was left
 * blank. Null until it is known: bytes written, bytes/s of requests of 1 MiB one after the other, the longest request
 * in milliseconds, degrees Celsius at most, media errors that came with the test, and what became of a trim.
 */
export interface DriveTest {
    schema_version: 1;
    id: string;
    serial: string;
    wwid: string;
    bay: string | null;
    scope: "full" | "quick";
    state: "running" | "passed" | "failed" | "cancelled" | "interrupted";
    boot: string;
    began: string;
    ended: string | null;
    reason: string | null;
    remarks: string[];
    blank: boolean;
    written_bytes: number | null;
    write_bytes_per_second: number | null;
    read_bytes_per_second: number | null;
    longest_write_ms: number | null;
    longest_read_ms: number | null;
    hottest_celsius: number | null;
    media_errors: number | null;
    trim: "reads zeroes" | "accepted" | "refused" | "none" | null;
}

/**
 * How far the test of one drive is: bytes done of all passes, what it does now. Null is what is not known yet.
 *
 * `total` is 0 before the test reports its progress.
 */
export interface DriveTestProgress {
    schema_version: 1;
    serial: string;
    what: "writing" | "reading back" | "writing zeros" | "reading zeros";
    done: number;
    total: number;
    bytes_per_second: number | null;
    seconds_left: number | null;
}

/** The last one of each drive, the latest first. */
export interface DriveTests {
    schema_version: 1;
    tests: DriveTest[];
}

/**
 * What can be read without the log. `files` and `size` (bytes, apparent) are of what was walked.
 *
 * `unreadable` is how many directories could not be read, `complete` is false where the time limit ended the walk.
 * `problems` are lines of `xfs_repair -n`, the first ones of `problem_count`. `note` is why nothing was mounted.
 */
export interface DryRunResult {
    files: number;
    directories: number;
    size: number;
    unreadable: number;
    complete: boolean;
    problem_count: number;
    problems: string[];
    note: string | null;
}

/**
 * What one knob does: `effect` is the gain of the plan's level over `other`, `noise` what it may be by chance.
 *
 * `matters`: the effect is beyond noise. `tried` is the level that was better than the plan's at first, `confirmed`
 * its gain over the plan's when it was measured again; null where no level was. `moved`: the candidate has it.
 */
export interface Effect {
    knob: string;
    planned: number | string;
    other: number | string;
    effect: number;
    noise: number;
    matters: boolean;
    moved: boolean;
    tried: number | string | null;
    confirmed: number | null;
    confirmed_noise: number | null;
}

/**
 * How the root file system is encrypted (`millrace encryption show --json`).
 *
 * `device` is the partition, null where root is not encrypted; `without` says then why a new root would not be, and is
 * null where it would. `cipher` is that of its content, `since` when the file system on it was made (ISO 8601); each
 * is null where that cannot be read. `tpm` is whether this server has a TPM 2.0, `tpm_name` its name in the kernel
 * with its driver. `bound` is whether a TPM has a key to root, and `secure_boot` whether it asks for Secure Boot with
 * its keys of then. `signer` is whether it asks for the key that the running kernel image is signed with. `opened` is
 * whether the TPM opened root in this boot, which began at `booted`; null where that is not known, and after a change
 * of the key since. `recovery_key` is whether an administrator has one: one was made, and read. `needs` is what may
 * keep root closed, the worst first.
 */
export interface Encryption {
    schema_version: 1;
    device: string | null;
    without: string | null;
    cipher: string | null;
    since: string | null;
    tpm: boolean;
    tpm_name: string | null;
    bound: boolean;
    secure_boot: boolean;
    signer: boolean;
    opened: boolean | null;
    booted: string;
    recovery_key: boolean;
    needs: ("tpm" | "bound" | "suspended" | "signer" | "recovery-key")[];
}

/** A secret that waits for its first code: in base32, and as the link in a QR code. */
export interface EnrolmentReport {
    schema_version: 1;
    name: string;
    secret: string;
    uri: string;
}

/**
 * The server as it was, and the clients that measured it.
 *
 * `virtual` names the hypervisor, None on metal; `packages` and `settings` by name.
 */
export interface Environment {
    host: string;
    product: string;
    kernel: string;
    cpu: string;
    sockets: number;
    cores: number;
    memory: number;
    virtual: string | null;
    plan_sha256: string | null;
    pool: string;
    drives: DriveFact[];
    ports: PortFact[];
    clients: ClientFacts[];
    packages: Record<string, string>;
    settings: Record<string, string>;
}

/** How far an erasure is: bytes done of all, what it does now. Null is what the drive does not say. */
export interface EraseProgress {
    schema_version: 1;
    serial: string;
    what: string;
    done: number | null;
    total: number | null;
    bytes_per_second: number | null;
    seconds_left: number | null;
}

/**
 * One erasure, by the `id` of its order; `method` is null until it is done. `boot` is the kernel's id of its boot.
 *
 * `reason` is why it did not end well, `unproved` what nobody can verify from outside of the drive.
 */
export interface Erasure {
    schema_version: 1;
    id: string;
    serial: string;
    wwid: string;
    bay: string | null;
    state: "running" | "done" | "failed" | "interrupted";
    method: "sanitize-block" | "sanitize-crypto" | "format" | "format-crypto" | "overwrite" | null;
    boot: string;
    began: string;
    ended: string | null;
    reason: string | null;
    unproved: string | null;
}

/** One thing that one probe found, or the reason why it failed. */
export interface Evidence {
    probe: string;
    finding: string;
}

/**
 * What the check script compares a running mount with.
 *
 * `options` are as the kernel prints them. `lanes` counts connections; `lane_addresses` are those that must carry
 * one each. `mtu` in bytes is the server port's. `authorities` are CAs that the client's file `truststore` must have,
 * by the SHA-256 of each: the present one and, months before it takes over, the next one.
 */
export interface Expect {
    schema_version: 1;
    share: string;
    workload: ClientWorkload;
    protocol: Protocol;
    fstype: "nfs" | "cifs";
    source: string;
    port: number;
    options: Record<string, string>;
    lanes: number;
    lane_addresses: string[];
    modules: ModuleParameter[];
    encrypted: boolean;
    mtu: number | null;
    gpu: Gpu | null;
    truststore: string | null;
    authorities: TrustedAuthority[];
}

/** The document of `millrace plan --explain DECISION --json`. */
export interface Explanation {
    schema_version: 1;
    decision: Decision;
}

/** A version that is not offered again, and why. */
export interface FailedVersion {
    version: string;
    at: string;
    problems: string[];
}

/**
 * How many accelerators are kept busy. `bandwidth` in bytes/s is what all of them read.
 *
 * `bound_by` is the bottleneck, null where it is not known; `run` and `at` are those of the benchmark, null for a
 * prediction. `degraded`: an array has fewer members than it should, which measurements of a healthy one do not show.
 */
export interface Fed {
    counts: FedCount[];
    basis: "clients" | "server" | "predicted";
    bandwidth: number;
    bound_by: "drives" | "pcie" | "memory" | "cpu" | "md" | "nic" | "nfsd" | "network" | "client" | "latency" | null;
    run: string | null;
    at: string | null;
    degraded: boolean;
}

/** So many accelerators of one type, each busy for at least `floor` (0..100) of the time. */
export interface FedCount {
    accelerator: string;
    count: number;
    floor: number;
}

/**
 * One quantity of one rung: medians, `ratio` = second ÷ first with its 95 % bootstrap interval.
 *
 * `noise` is twice the median distance from the median, as a part of it; the larger one of both runs.
 */
export interface FigureChange {
    rung: string;
    quantity: "bandwidth" | "operations";
    direction: string;
    first: number;
    second: number;
    repeats: number;
    ratio: number;
    low: number;
    high: number;
    noise: number;
    verdict: "faster" | "slower" | "same";
}

/**
 * One file that is not as it would be rendered. `unit` reads it, empty where each program reads it by itself.
 *
 * `edited`: it was changed by hand since it was rendered. `lines` are a unified diff, from the file to what would be
 * rendered.
 */
export interface FileDiff {
    path: string;
    unit: string;
    action: "create" | "change" | "remove";
    edited: boolean;
    lines: string[];
}

/**
 * How many files have data in ranges that do not match, and the first of their names, relative to the pool.
 *
 * `complete` is false where not all names could be searched.
 */
export interface FileSearch {
    at: string;
    count: number;
    names: string[];
    complete: boolean;
}

/**
 * The XFS file system of the pool. `stripe_unit` in bytes, `stripe_width` in stripe units, both 0 without stripes.
 *
 * `log_device` None: the log is inside the file system; `log_size` None: mkfs.xfs sizes it. `allocation_group_size` in
 * bytes, `autofsck` (xfs_scrub(8)), `discard`, whether discards may reach the drives, and `features`, those that are
 * named for mkfs.xfs, are None for a pool that was made before they were planned.
 */
export interface Filesystem {
    label: string;
    mountpoint: string;
    device: string;
    log_device: string | null;
    log_size: number | null;
    stripe_unit: number;
    stripe_width: number;
    allocation_groups: number;
    allocation_group_size: number | null;
    sector: number;
    autofsck: "none" | "check" | "optimize" | "repair" | null;
    discard: boolean | null;
    features: string[] | null;
    mount_options: string[];
}

/** The last check of the metadata of XFS; `problem` is null where it is sound. */
export interface FilesystemScrub {
    started: string;
    ended: string;
    seconds: number;
    problem: string | null;
}

/** What a rebuild of one array gets at least, in KiB/s of each drive, and why. */
export interface Floor {
    array: string;
    survives: number;
    sync_speed_min: number;
    reason: string;
    source: string;
}

/**
 * How many accelerators this server is expected to feed. It is no result.
 *
 * `source` says where it is from; `count` None: neither a measurement nor the plan has a figure. `bandwidth` in
 * bytes/s.
 */
export interface Forecast {
    accelerator: string;
    count: number | null;
    bandwidth: number | null;
    source: "measured" | "predicted" | "unknown";
    text: string;
}

/** A factory reset that forgot the people of a state: by whom, and when (ISO 8601, in UTC). */
export interface Forgotten {
    by: string;
    at: string;
}

/**
 * An array on the drives of this server. `uuid` in mdadm's form; `name` is that of the plan: data, log, leg-0.
 *
 * `slots` is how many members it has when it is complete, `serials` are the drives whose members are current, `spares`
 * its hot spares, `outdated` those whose members were away when it was last written, `away` those that the kept state
 * has and this server has not.
 */
export interface FoundArray {
    uuid: string;
    name: string;
    level: string;
    slots: number;
    serials: string[];
    spares: string[];
    outdated: string[];
    away: string[];
}

/**
 * The search of this boot and what came of it. `found` is null where nothing was searched, or a pool is there.
 *
 * `adoption` is one that is under way, `running` whether it goes on at the moment, and `progress` how far it is.
 * `adopted` is the result of the one of this boot. `elsewhere` is the newest state on the pool of this server where
 * another boot drive wrote it: the pool is not served before an administrator decides.
 */
export interface FoundHere {
    schema_version: 1;
    found: SearchResult | null;
    adoption: Adoption | null;
    running: boolean;
    progress: AdoptionProgress | null;
    adopted: Adopted | null;
    elsewhere: KeptElsewhere | null;
}

/**
 * A network that `port` of this server is in, which is not for management.
 *
 * `leased`: DHCP or a router gave the address; the network is confirmed only by naming it. `proposed` ones are private
 * and of fixed addresses.
 */
export interface FoundNetwork {
    network: string;
    port: string;
    leased: boolean;
    proposed: boolean;
}

/**
 * A pool on the drives. `uuid` is that of its file system. `missing` counts members that are not there.
 *
 * `problem` is why it cannot be adopted. `devices` are the serial numbers of external devices that it lies on. `lacks`
 * is what its file system was made without, a clause for each feature.
 */
export interface FoundPool {
    uuid: string | null;
    arrays: FoundArray[];
    missing: number;
    kept: KeptState | null;
    problem: string | null;
    devices: string[];
    lacks: string[];
}

/** One measurement of the ladder and its weight among all goals; weights add up to 1. */
export interface Goal {
    name: string;
    title: string;
    weight: number;
    unit: "bytes/s" | "1/s" | "s";
    better: "higher" | "lower";
}

/** Maker of the client's GPUs, which read the share without a copy in host memory. */
export type Gpu = "nvidia" | "amd";

/**
 * What a client with GPUs needs beside the mount.
 *
 * `needs` are versions of drivers, `merge` parts of configuration files that exist on the client, `environment` is for
 * programs that use the GPUs, `proof` are commands.
 */
export interface GpuSettings {
    maker: Gpu;
    needs: RecipeChoice[];
    merge: ClientFile[];
    environment: RecipeChoice[];
    proof: RecipeChoice[];
    traps: Trap[];
}

/** A local group. */
export interface Group {
    name: string;
    gid: number;
}

/** The groups that shares and users can name. */
export interface GroupList {
    schema_version: 1;
    groups: Group[];
}

/** The data partition of a drive that is enlarged from `before` to `size` bytes. `bay` is its bay or slot. */
export interface GrownPartition {
    serial: string;
    bay: string | null;
    label: string;
    before: number;
    size: number;
}

/** Equal parts of a server: how many, and what each is. */
export interface HardwareParts {
    count: number;
    what: string;
}

/**
 * What a server consists of; `memory` in bytes, `bays` the drives whose bay is known.
 *
 * `server`, `firmware` and `ecc` are null where the firmware does not report them. `layout` is that of the pool, or of
 * the plan where there is no pool.
 */
export interface HardwareReport {
    schema_version: 1;
    millrace: string;
    kernel: string;
    server: string | null;
    firmware: string | null;
    cpu: string;
    sockets: number;
    nodes: number;
    cores: number;
    memory: number;
    ecc: boolean | null;
    modules: HardwareParts[];
    switches: number;
    bays: number;
    drives: HardwareParts[];
    ports: HardwareParts[];
    layout: string;
    findings: HardwareParts[];
}

/** One number for a tile: the best layer's median of one workload. */
export interface Headline {
    rung: string;
    name: string;
    value: number;
    unit: "bytes/s" | "operations/s" | "seconds";
}

/**
 * All findings; `level` is the worst of them. `at` is ISO 8601 in UTC.
 *
 * `starting` is whether the boot was still under way: what is missing may come, what was wrong may not show yet.
 */
export interface Health {
    schema_version: 1;
    at: string;
    level: Level;
    findings: HealthFinding[];
    starting: boolean;
}

/**
 * What one check found: a sentence, and the remedy where there is one. A finding that is OK has none.
 *
 * `subject` is what it is about: the serial of a drive, the name of an array, a unit or a share. `kind` tells several
 * things apart that a check may find about one subject. `key` is made of these three and stays the same while the
 * sentence changes. `since` (ISO 8601 in UTC) is when this boot found it first; null for a finding that is OK.
 */
export interface HealthFinding {
    check: string;
    subject: string;
    level: Level;
    sentence: string;
    todo: string | null;
    key: string;
    since: string | null;
}

/** One change, without the state after it. */
export interface HistoryEntry {
    number: number;
    who: string;
    when: string;
    what: string;
}

/**
 * Series of a span: `since` and `at` in seconds since 1970, `step` in seconds.
 *
 * Rates of shares and clients are of the ten that transferred most. `stored` is when the history was last copied to
 * the pool. `notes` are what is not known, and why.
 */
export interface HistoryReport {
    schema_version: 1;
    at: number;
    since: number;
    step: number;
    series: HistorySeries[];
    forecast: CapacityForecast | null;
    stored: number | null;
    notes: string[];
}

/**
 * One series; `of` is the share, client, port or serial number, empty where there is one only.
 *
 * `points` are means over a step each, the first one over the step that begins at `since`; null where nothing was
 * kept, which is not zero. `peak` is the highest value that was kept. `last` is the newest value, of a step that may
 * be incomplete.
 */
export interface HistorySeries {
    name: string;
    of: string;
    unit: "bytes/s" | "operations/s" | "seconds" | "ratio" | "bytes" | "celsius";
    points: (number | null)[];
    mean: number | null;
    peak: number | null;
    last: number | null;
}

/** Numbers of users and groups, both ends included. */
export interface IdRange {
    first: number;
    last: number;
}

/**
 * What `millrace install list --json` prints: the version that runs, from which drive, and all drives.
 *
 * `runs_from` is a serial number, or a name where the drive has none.
 *
 * `problem` is why nothing can be installed from here; null where it can.
 */
export interface InstallReport {
    schema_version: 1;
    version: string;
    runs_from: string | null;
    problem: string | null;
    drives: BootCandidate[];
}

/** What is done now. */
export interface InstallStep {
    schema_version: 1;
    doing: string;
}

/** A drive that was written and read back: it starts this version. */
export interface Installed {
    schema_version: 1;
    serial: string;
    version: string;
    verified: true;
}

/**
 * Everything that the planner may use; what follows `nics` is None or empty where it is not reported.
 *
 * `cpu_mhz` is the sustained clock, `cpu_throttled` how often a core was slowed down by heat since the boot, `ecc`
 * whether memory errors are corrected, `kernel_features` which modules that a pool may need exist, `lockdown` the mode
 * of the kernel's lockdown, `file_modules` the modules of NFS, SMB and parity RAID.
 */
export interface Inventory {
    schema_version: 1;
    kernel: string;
    cpu_model: string;
    sockets: number;
    nodes: NumaNode[];
    memory: number;
    drives: Drive[];
    nics: Nic[];
    smt: boolean | null;
    cpu_mhz: number | null;
    cpu_throttled: number | null;
    ecc: boolean | null;
    dimms: Dimm[];
    switches: PcieSwitch[];
    kernel_features: Record<string, boolean>;
    lockdown: string | null;
    file_modules: KernelModule[];
}

/** How nfsd reads and writes files; None is the kernel's, which is `BUFFERED`. */
export interface IoSettings {
    read: "buffered" | "dontcache" | "direct" | null;
    write: "buffered" | "dontcache" | "direct" | null;
}

/** The last job of each kind of which there was one; those that run or wait come first. */
export interface JobList {
    schema_version: 1;
    jobs: JobStatus[];
}

/** The last job of a kind, or the one that runs; `reason` is why it did not end well. Times are ISO 8601 in UTC. */
export interface JobStatus {
    name: "provision" | "drive-change" | "erase" | "drive-test" | "rescue" | "revive" | "adopt" | "clone" | "copy" | "snapshot" | "replica" | "backup" | "permissions" | "benchmark" | "tuner" | "update-download" | "update" | "scrub" | "damaged-files" | "unclean" | "trim" | "reset" | "destroy";
    title: string;
    what: string;
    state: "running" | "waiting" | "done" | "failed" | "cancelled" | "interrupted";
    progress: number | null;
    seconds_left: number | null;
    bytes_per_second: number | null;
    by: string | null;
    after_boot: "continues" | "continues in its window" | "ends" | "is confirmed again";
    cancellable: boolean;
    why: string | null;
    schema_version: 1;
    unit: string;
    began: string | null;
    ended: string | null;
    reason: string | null;
}

export type JsonValue = unknown;

/** All generations on the pool, the newest first. */
export interface KeepList {
    schema_version: 1;
    directory: string;
    generations: KeptGeneration[];
}

/**
 * How the state of this server is kept on its pool. Times are ISO 8601 in UTC.
 *
 * `verified` is when the newest generation was last read back and had all that it should. `problem` is why that did
 * not succeed at the last attempt; `unread` is what could not be kept with the rest, `damaged` are generations that
 * cannot be read. `sealed`: secrets are encrypted with a passphrase; no generation with another `seal` is left.
 */
export interface KeepStatus {
    schema_version: 1;
    directory: string;
    generation: number | null;
    written: string | null;
    verified: string | null;
    problem: string | null;
    unread: string[];
    damaged: string[];
    sealed: boolean;
    seal: Seal | null;
}

/**
 * The newest state on the pool, which another boot drive wrote: the server does not serve until it is decided which
 * state counts.
 *
 * `same_drive`: it was this boot drive, of which an older copy was put back. Of a state that only a later release can
 * read, nothing but generation and `release` is known. `written` is ISO 8601 in UTC. `trusted` is the power over the
 * server that the state gives.
 */
export interface KeptElsewhere {
    schema_version: 1;
    pool: string;
    generation: number;
    written: string | null;
    host: string | null;
    release: string | null;
    sealed: boolean;
    same_drive: boolean;
    shares: string[];
    users: string[];
    trusted: Trusted[];
}

/** The floor of free space that holds, in percent, and the `raised` one that waits; null where none does. */
export interface KeptFloor {
    percent: number;
    raised: RaisedFloor | null;
}

/** One generation. `size` in bytes. `problem` is why it cannot be read; then nothing else of it is known. */
export interface KeptGeneration {
    generation: number;
    file: string;
    size: number;
    written: string | null;
    host: string | null;
    pool: string | null;
    release: string | null;
    members: number | null;
    sealed: boolean | null;
    unread: string[];
    problem: string | null;
}

/**
 * A port with fixed addresses in the kept state; `here` is the port of this server that gets them, None for none.
 *
 * `by` is how it was recognised: the same MAC address, or the same name in another chassis.
 */
export interface KeptPort {
    name: string;
    mac: string;
    addresses: string[];
    here: string | null;
    by: "mac" | "name" | null;
}

/**
 * The newest kept state that can be read. `written` is ISO 8601 in UTC; `damaged` are newer ones that cannot be.
 *
 * `sealed`: secrets need the passphrase. `trusted` is the power over the server that it gives. `users` and `shares`
 * are names. `origin`: `kept` as it was; `forgotten` where a factory reset left the pool and its closed shares alone,
 * by whom and when in `forgotten`; `drives` where no kept state can be read, and superblocks and directories say what
 * there is.
 */
export interface KeptState {
    generation: number;
    written: string;
    host: string;
    release: string;
    sealed: boolean;
    shares: string[];
    users: string[];
    ports: KeptPort[];
    domain: string | null;
    origin: "kept" | "forgotten" | "drives";
    forgotten: Forgotten | null;
    problems: string[];
    damaged: string[];
    trusted: Trusted[];
}

/** The last verification of a share, by a change or by `millrace share verify`; `at` is ISO 8601 in UTC. */
export interface KeptVerification {
    at: string;
    result: ShareVerification;
}

/** A kernel module of NFS, SMB or parity RAID: which build the kernel loads, Debian's or Millrace's. */
export interface KernelModule {
    name: string;
    build: "debian" | "millrace";
}

/** An option without which a version is not installed, and the reason. */
export interface KernelOption {
    option: "older" | "again" | "degraded";
    reason: string;
}

/** A principal that this server has keys of; `version` is the number of the machine password behind it. */
export interface Key {
    principal: string;
    version: number;
}

/** A public SSH key. `security_key`: the private half is in a FIDO2 key, which has to be touched. */
export interface KeyEntry {
    type: string;
    fingerprint: string;
    comment: string;
    security_key: boolean;
}

/**
 * Objects of a cluster as YAML: `storage_class` for volumes that pods claim, `volumes` for data sets to read.
 *
 * `storage_class` is null for a share that is only read.
 */
export interface KubernetesRecipe {
    schema_version: 1;
    share: string;
    server: string;
    storage_class: string | null;
    volumes: string[];
    yaml: string;
    notes: Note[];
}

/** The change that runs, else the last one that ended; null before the first one. */
export interface LastChange {
    schema_version: 1;
    change: ChangeProgress | null;
}

/**
 * How the last update ended.
 *
 * `failed`: it was started and did not serve; `interrupted`: it was not installed completely; `refused`: it was not
 * installed, for the reason in `problems`; `rolled-back`: an administrator wants `before` to run again.
 */
export interface LastUpdate {
    schema_version: 1;
    version: string;
    before: string;
    state: "installed" | "accepted" | "failed" | "interrupted" | "refused" | "rolled-back";
    at: string;
    by: string;
    problems: string[];
}

/** Seconds from request to answer, over all repeats and jobs; percentiles from the sum of the histograms. */
export interface Latency {
    direction: "read" | "write" | "commit" | "create" | "stat" | "delete";
    count: number;
    mean: number;
    low: number;
    high: number;
    p50: number;
    p95: number;
    p99: number;
    p999: number;
}

/**
 * One layout. `name` and `sha256` choose it; `capacity` in bytes before the metadata of md and XFS.
 *
 * `may_fail` drives of each of the `legs` may die at a time; `rebuild_hours` at the guaranteed rate beside clients;
 * `unreadable` the chance, 0 to 1, that a rebuild meets a sector that nothing replaces. `proposed`: it is the plan of
 * this server. `grows`: it can use larger drives later, in place.
 */
export interface LayoutChoice {
    name: string;
    title: string;
    sha256: string;
    proposed: boolean;
    capacity: number;
    legs: number;
    may_fail: number;
    hot_spares: number;
    rebuild_hours: number | null;
    unreadable: number;
    read: StreamLimit;
    write: StreamLimit;
    score: number;
    grows: boolean;
}

/** The document of `millrace plan --layouts`, the plan of this server first, then by score. */
export interface LayoutChoices {
    schema_version: 1;
    choices: LayoutChoice[];
}

/** A sector format that a drive could be given. `block` and `metadata` in bytes; `performance` 0 is best. */
export interface LbaFormat {
    block: number;
    metadata: number;
    performance: number;
    in_use: boolean;
}

/**
 * A drive of the pool that was not wiped, and why, as the end of a sentence about it. `bay` as it was last known.
 *
 * `missing`: it was not in this server, and still carries its part of the pool.
 */
export interface LeftDrive {
    serial: string;
    bay: string | null;
    missing: boolean;
    why: string;
}

/** One setting that is not tried, and why. */
export interface LeftOut {
    name: string;
    reason: string;
}

/** How it is. UNKNOWN means that the check could not look. */
export type Level = "OK" | "WARN" | "UNKNOWN" | "FAIL";

/**
 * The copies of a share at a place. Times are ISO 8601 in UTC, `period` is in seconds.
 *
 * `none`: there is no copy, or no schedule that keeps one. `last` is when the newest copy was made, `next` when the
 * next one is due, and `drill` when a restore was last tried there. `sentence` is the state, `todo` what to do.
 */
export interface Light {
    share: string;
    place: "here" | "second-server" | "off-site";
    state: "none" | "ok" | "late" | "failed" | "running";
    schedule: string | null;
    last: string | null;
    period: number | null;
    next: string | null;
    drill: string | null;
    sentence: string;
    todo: string | null;
}

/**
 * One port, bond or VLAN. `speed` in Mbit/s and MTUs in bytes where they are known.
 *
 * `addresses` are those that it has now, in CIDR form; `fixed` those of the desired state, none where DHCP or a
 * credential decides. `decided`: it has settings of its own in the desired state. `part_of` is the bond or bridge that
 * it belongs to. A `management` port has the web console and serves no client. `members` are the ports of a bond,
 * `active` those of them that carry data, `partner` the MAC address of the switch that answers LACP. `vlan` is the
 * VLAN ID, `parent` what it is on.
 */
export interface LinkReport {
    name: string;
    kind: "port" | "bond" | "vlan";
    mac: string;
    carrier: boolean;
    speed: number | null;
    mtu: number | null;
    addresses: string[];
    decided: boolean;
    fixed: string[];
    gateway: string | null;
    dhcp: boolean;
    wanted_mtu: number | null;
    part_of: string | null;
    management: boolean;
    mode: "lacp" | "active-backup" | null;
    members: string[];
    active: string[];
    partner: string | null;
    vlan: number | null;
    parent: string | null;
}

/** An alert that is open, and who acknowledged it. */
export interface ListedAlert {
    key: string;
    subject: string;
    level: Level;
    sentence: string;
    todo: string | null;
    since: string;
    acknowledged: string | null;
}

/**
 * A route and how it does. `to` is where it leads, without secrets; `secure` is false where it is not encrypted.
 *
 * `authorities` are those of its own; without them the public ones verify its receiver.
 */
export interface ListedRoute {
    name: string;
    kind: "mail" | "webhook" | "syslog";
    to: string;
    secure: boolean;
    daily: string | null;
    delivered: string | null;
    problem: string | null;
    waiting: number;
    authorities: Authority[];
}

/**
 * One array. `state` is md's own word (clean, active, readonly, …) and `missing` where the array does not run.
 *
 * `degraded` is how many members it lacks, `may_fail` how many more it can lose without losing data; both null where
 * the kernel does not report it, and for a raid0 over legs, which have their own. Sizes in bytes. `last_scrub` is the
 * last check that came to its end, null where there was none.
 */
export interface LiveArray {
    name: string;
    level: "raid0" | "raid1" | "raid5" | "raid6";
    role: Role;
    uuid: string;
    device: string | null;
    state: string;
    size: number | null;
    chunk: number | null;
    legs: string[];
    degraded: number | null;
    may_fail: number | null;
    members: Member[];
    sync: Sync | null;
    last_scrub: Scrubbed | null;
}

/**
 * A partition of an external device under the pool; `device` is its kernel name, null for one that is missing.
 *
 * `size` in bytes as it was made.
 */
export interface LiveBackend {
    serial: string;
    role: Role;
    device: string | null;
    size: number;
}

/**
 * The XFS of the pool. `log` is the array with its log, null where that is inside. Sizes in bytes.
 *
 * Null sizes: it is not mounted, or does not answer.
 */
export interface LiveFilesystem {
    mountpoint: string;
    uuid: string;
    device: string;
    log: string | null;
    log_size: number | null;
    mounted: boolean;
    read_only: boolean;
    size: number | null;
    used: number | null;
    free: number | null;
}

/**
 * One sample. `time` is seconds since 1970; rates are over the second before, null in the first line.
 *
 * `localio` is 1 or more where NFS clients on the server itself go around nfsd: what they read and write is not in
 * `protocols`. It is null where there are no such clients, or the kernel cannot do it. `notes` are why something is
 * not known.
 */
export interface LiveSample {
    schema_version: 1;
    time: number;
    health: Level;
    protocols: ProtocolRates[];
    drives: DriveRates;
    ports: PortRates[];
    jobs: CurrentJob[];
    localio: number | null;
    notes: string[];
}

/**
 * Blocks of one drive that explain why these sectors of each member do not match, `end` is the first after them.
 *
 * `serial` is null where no single drive explains it. `data` is which of the data blocks of its row the drive has
 * there, null for parity. `digests` are of what the drive returned, one of each block of 8 sectors: one that was
 * written since differs.
 */
export interface LocatedBlocks {
    begin: number;
    end: number;
    serial: string | null;
    data: number | null;
    digests: string[];
}

/**
 * A drive whose LED was lit: the locate LED of its bay, else its activity LED.
 *
 * `reads` how many reads the drive answered meanwhile, those of others included.
 */
export interface LocatedDrive {
    schema_version: 1;
    serial: string;
    bay: string | null;
    by: "locate LED" | "activity LED";
    reads: number;
}

/**
 * Where the records of NFS clients are, by which they get their locks back after a restart.
 *
 * `moved` is how many came from the boot drive; `set_aside` is the file of damaged records.
 */
export interface LockRecords {
    schema_version: 1;
    directory: string;
    clients: number;
    moved: number;
    set_aside: string | null;
}

/**
 * One md array. Members are serials of drives, or names of arrays for a raid0 over legs. Sizes in bytes.
 *
 * `data_members` is the number of members whose capacity holds data, per full stripe. A raid1 may have one member,
 * so that a mirror can be added later. `spares` are serials of the hot spares of this very array.
 */
export interface MdArray {
    name: string;
    level: "raid0" | "raid1" | "raid5" | "raid6";
    members: string[];
    spares: string[];
    over_arrays: boolean;
    role: Role;
    chunk: number | null;
    data_members: number;
    bitmap: "internal" | "none";
    bitmap_chunk: number | null;
}

/** Each parity array, and its members. The ranges are those of the kernel. */
export interface MdPolicy {
    /** threads of each parity array */
    group_thread_cnt: number | null;
    /** stripes in the cache of each parity array */
    stripe_cache_size: number | null;
    /** limit of a rebuild in KiB/s */
    sync_speed_max_kib: number | null;
    /** least rate of a rebuild beside clients, in KiB/s of each drive, while its array survives a failure and the priority is balanced; without it by the remaining redundancy */
    rebuild_min_kib: number | null;
    /** read-ahead in KiB */
    read_ahead_kib: number | null;
    /** requests that wait in the queue of each drive in an array; without it the kernel's */
    member_requests: number | null;
    /** largest request to each drive in an array in KiB; without it the kernel's */
    member_max_kib: number | null;
    /** never: the pool is not trimmed, even if every drive guarantees zeroes */
    discard: "never" | null;
    /** false: all reads of a degraded array go through md's stripe cache */
    direct_degraded_reads: boolean | null;
}

/** Per-array md settings that the kernel forgets. `sync_speed_max` in KiB/s, `read_ahead` in KiB. */
export interface MdSettings {
    group_thread_cnt: number;
    stripe_cache_size: number;
    sync_speed_max: number;
    read_ahead: number;
}

/**
 * The settings of a tuner's run that were applied (`/etc/millrace/measured.json`).
 *
 * `at` (ISO 8601 in UTC) is when they were measured, `by` who applied them. `replaced` is what the policy's file had
 * for these keys then. `server`, `arrays` and `ports` (`port_kinds`; None: not recorded) are the hardware.
 */
export interface MeasuredPolicy {
    schema_version: 1;
    run: string;
    at: string;
    by: string;
    values: Overrides;
    replaced: Overrides;
    server: Server;
    arrays: DataArrays;
    ports: string[] | null;
}

/**
 * One member of an array: a partition of the drive `serial`, or for a raid0 over legs the array of that name.
 *
 * `device` is the kernel's name of now, null for what is not there. `errors` are those that md corrected. `planned`
 * is false for a drive that was put in later.
 */
export interface Member {
    serial: string;
    label: string;
    bay: string | null;
    device: string | null;
    state: "in-sync" | "rebuilding" | "spare" | "faulty" | "missing" | "unknown";
    errors: number | null;
    planned: boolean;
}

/**
 * One member of an array, by names that survive a move to another bay.
 *
 * `partuuid` and `label` are empty for a whole drive that was added by hand.
 */
export interface MemberRecord {
    serial: string;
    wwid: string;
    partuuid: string;
    label: string;
}

/** The queue of each drive in an array: requests that wait in it, and the largest in KiB; None is the kernel's. */
export interface MemberSettings {
    requests: number | null;
    max_kib: number | null;
}

/** The result of join or leave. `domain` is null after leaving. */
export interface MembershipChange {
    schema_version: 1;
    serial: number;
    domain: Domain | null;
    verified: string[];
    warnings: string[];
}

/**
 * `millrace metrics status --json`, and what there is after `on` and `off`.
 *
 * `new_token` is shown once, by the command that made it.
 */
export interface MetricsEndpoint {
    schema_version: 1;
    enabled: boolean;
    port: number;
    addresses: string[];
    token: boolean;
    new_token: string | null;
}

/**
 * Sectors of each member, `end` is the first after them, in which so many `sectors` do not match.
 *
 * All of them do not match where the kernel has logged the place; else the place is somewhere within.
 */
export interface MismatchRange {
    begin: number;
    end: number;
    sectors: number;
}

/** A parameter of a kernel module and the least value that the recipe wants. */
export interface ModuleParameter {
    module: string;
    parameter: string;
    at_least: number;
}

/**
 * What the server did in about one second. Shares are 0..1. `at` is seconds since the rung began.
 *
 * `interrupts` is the share of all CPUs in hard and soft interrupts, `busiest` the load of the busiest one;
 * `drives_busy` and `array_busy` are the share of time with requests outstanding, `nfsd_queued` the part of the
 * requests that waited for a thread, `rpc_queue` how many seconds a request of the loopback mount waited before it was
 * sent.
 */
export interface Moment {
    at: number;
    read: number | null;
    written: number | null;
    cpu: number | null;
    interrupts: number | null;
    busiest: number | null;
    drives_busy: number | null;
    drives_depth: number | null;
    array_busy: number | null;
    nfsd_queued: number | null;
    rpc_queue: number | null;
    temperature: number | null;
}

/** A block device of the subsystem; `device` is a name that no restart changes, `size` in bytes. */
export interface NamespaceRow {
    name: string;
    device: string;
    size: number;
}

/** The result of a change. It is in force, and rolled back after `seconds` unless it is confirmed; 0 is for good. */
export interface NetworkChange {
    schema_version: 1;
    what: string;
    seconds: number;
    verified: string[];
    warnings: string[];
}

/** The network of this server now; `trial` is the last change since it was started. */
export interface NetworkReport {
    schema_version: 1;
    host_name: string;
    domain: string | null;
    links: LinkReport[];
    routes: DesiredRoute[];
    dns: string[];
    search: string[];
    ntp: string[];
    trial: TrialReport | null;
}

/** The log that takes the place of the lost one: tables for blank drives, the mirror, the steps that make both. */
export interface NewLog {
    drives: DriveRecord[];
    array: ArrayRecord;
    steps: StepRecord[];
}

/**
 * A partition that the new drive gets, `size` in bytes.
 *
 * `array` is the one that it joins, null for a partition that is kept for later. `copies`: the old drive stays in the
 * array until md has copied it.
 */
export interface NewPartition {
    role: Role;
    size: number;
    label: string;
    array: string | null;
    copies: boolean;
}

/**
 * The NFS side of a share. No client named: the client networks of the policy, else those that were confirmed.
 *
 * `snapshots`: the same clients may read the snapshots of the share.
 */
export interface Nfs {
    enabled: boolean;
    clients: NfsClient[];
    snapshots: boolean;
}

/**
 * Clients that may mount, and how. `xprtsec` none means that every transport security is accepted.
 *
 * `anonuid` and `anongid` are the user and group that squashed users become; None is nobody.
 */
export interface NfsClient {
    client: string;
    access: "ro" | "rw";
    squash: "root" | "all" | "none";
    anonuid: number | null;
    anongid: number | null;
    sec: ("sys" | "krb5" | "krb5i" | "krb5p")[];
    xprtsec: ("none" | "tls" | "mtls")[];
}

/**
 * Settings of all NFS shares. `networks` are the client networks that an administrator confirmed.
 *
 * Empty is closed, also for a state document from before there was this field: a share that names no clients is not
 * exported until an administrator names the networks.
 */
export interface NfsServer {
    networks: string[];
}

/**
 * The NFS server. `threads_min` is per pool, `threads_max` in total; times in seconds; block size in bytes.
 *
 * `localio`: clients on the server itself may go around it. `copy_from`: addresses of the servers that it may copy
 * from when a client asks it to (inter-server copy).
 */
export interface Nfsd {
    threads_min: number;
    threads_max: number;
    pool_mode: "global" | "pernode";
    max_block_size: number;
    lease_time: number;
    grace_time: number;
    localio: boolean;
    copy_from: string[];
}

/** The NFS server. */
export interface NfsdPolicy {
    /** threads of nfsd in all */
    threads: number | null;
    /** least threads of each pool of threads */
    threads_min: number | null;
    /** one pool of threads, or one for each NUMA node */
    pool_mode: "global" | "pernode" | null;
    /** largest read or write of NFS in bytes, a multiple of 4096 */
    max_block_size: number | null;
    /** seconds after which the state of a silent client may go */
    lease_time: number | null;
    /** seconds in which clients reclaim their locks after a start */
    grace_time: number | null;
    /** false: NFS clients on the server itself go through nfsd */
    localio: boolean | null;
    /** how nfsd reads files of all shares; without effect under Secure Boot; without it buffered */
    io_cache_read: "buffered" | "dontcache" | "direct" | null;
    /** how nfsd writes files of all shares; without effect under Secure Boot; without it buffered */
    io_cache_write: "buffered" | "dontcache" | "direct" | null;
}

/** Threads of the NFS server, and the CPUs that they may run on, as a list; null where none runs. */
export interface NfsdThreads {
    threads: number;
    cpus: string | null;
}

/**
 * One physical network port. `speed` in Mbit/s, None where the driver does not report it.
 *
 * `software_rdma`: the RDMA device is made of software over this port. `card_ports`: ports of the card it is on.
 */
export interface Nic {
    name: string;
    driver: string;
    pci_address: string | null;
    numa_node: number | null;
    speed: number | null;
    carrier: boolean;
    queues: number;
    rdma_device: string | null;
    link: PcieLink | null;
    software_rdma: boolean;
    firmware: string | null;
    card_ports: number | null;
    slot: string | null;
    switch: string | null;
}

/** Further information for the administrator of the client. */
export interface Note {
    text: string;
    source: string;
}

/**
 * One NUMA node: its logical CPUs, its physical cores, its memory and its L3 cache in bytes, its socket.
 *
 * A node may be without memory or without CPUs; the latter has no socket.
 */
export interface NumaNode {
    id: number;
    cpus: number[];
    cores: number;
    memory: number;
    socket: number | null;
    l3: number | null;
}

/**
 * A version that was found: what is new in it, and why it is not installed as it is.
 *
 * `refusal` names the option that allows it; `needs` are all options that are needed. Without any, a refusal is final.
 * `size` is in bytes. `warnings` say why a later release may be withheld.
 */
export interface Offer {
    schema_version: 1;
    version: string;
    running: string;
    size: number;
    news: string;
    refusal: string | null;
    needs: KernelOption[];
    expires: string | null;
    warnings: string[];
}

/** A file that an SMB client has open: its path below the share, the user, and whether it was opened to write. */
export interface OpenFile {
    path: string;
    user: string;
    writing: boolean;
}

/** A snapshot whose removal `by` ordered at `at`. */
export interface OrderedRemoval {
    by: string;
    at: string;
    left: number;
    due: string;
    share: string;
    name: string;
}

/** The version in the other slot. `tries_left` is how often it may still be started; null: as often as wanted. */
export interface OtherVersion {
    version: string;
    tries_left: number | null;
}

/** The sections of the policy that settings depend on. */
export interface Overrides {
    nfsd: NfsdPolicy;
    md: MdPolicy;
    sysctl: SysctlPolicy;
    smbd: SmbdPolicy;
    ports: PortsPolicy;
}

/** One partition that was made, whether an array uses it or it is kept for later. `size` in bytes. */
export interface PartitionRecord {
    role: Role;
    size: number;
    label: string;
    partuuid: string;
}

/**
 * The largest packet to a client that is not fragmented, in bytes; `configured` is the MTU of the link to it.
 *
 * `carried` is None where the client answers no ping of any size.
 */
export interface PathMtu {
    schema_version: 1;
    client: string;
    link: string;
    configured: number;
    carried: number | null;
    sentence: string;
}

/** One path. `state` is that of the kernel's controller (live, connecting, …), or `missing` without one. */
export interface PathRow {
    address: string;
    controller: string | null;
    state: string;
}

/**
 * A PCIe link, now and at most. Speeds in GT/s per lane.
 *
 * `max_…` is what the device can do, `slot_…` what the port that it is plugged into can do (None: not known).
 */
export interface PcieLink {
    speed: number;
    width: number;
    max_speed: number;
    max_width: number;
    slot_speed: number | null;
    slot_width: number | null;
}

/** The upstream port of a PCIe switch: all that hangs off the switch shares its link. */
export interface PcieSwitch {
    address: string;
    numa_node: number | null;
    link: PcieLink | null;
}

/** How far it is, in files and directories; `total` is null while they are counted. */
export interface PermissionsProgress {
    schema_version: 1;
    state: "running";
    share: string;
    done: number;
    total: number | null;
    seconds_left: number | null;
}

/**
 * What the walk found, and changed where `applied`: `entries` files and directories, `differ` of which had others.
 *
 * Left as they are: `linked` files with several names, which may be elsewhere too; `refused` ones, which are
 * immutable; links, pipes, sockets, devices and what is mounted are not counted.
 */
export interface PermissionsReport {
    schema_version: 1;
    state: "done";
    id: string;
    share: string;
    applied: boolean;
    entries: number;
    differ: number;
    linked: number;
    refused: number;
}

/** An administrator, operator or viewer. `keys` are public SSH keys; a `locked` account signs in by nothing. */
export interface Person {
    full_name: string;
    keys: string[];
    locked: boolean;
}

/** An account that manages this server. `second_factor` and `recovery_codes` are null without root's rights. */
export interface PersonEntry {
    name: string;
    full_name: string;
    role: "administrator" | "operator" | "viewer";
    locked: boolean;
    keys: KeyEntry[];
    second_factor: boolean | null;
    recovery_codes: number | null;
}

/** The result of a change of an account, in a sentence; `person` is null where it was removed. */
export interface PersonReport {
    schema_version: 1;
    person: PersonEntry | null;
    done: string;
}

/**
 * A complete plan. `capacity` in bytes, without what md and XFS need.
 *
 * With `backend` external there are no arrays: the file system lies on the partition of the one data drive.
 */
export interface Plan {
    schema_version: 1;
    verdict: "ready";
    backend: "md" | "external";
    title: string;
    capacity: number;
    drives: DriveRole[];
    arrays: MdArray[];
    filesystem: Filesystem;
    nfsd: Nfsd;
    md: MdSettings;
    sysctl: Record<string, string>;
    decisions: Decision[];
    warnings: string[];
    findings: PlanFinding[];
    prediction: Prediction | null;
}

/** What plan.json holds: the proposal, and for a plan its digest. */
export interface PlanFile {
    schema_version: 1;
    sha256: string | null;
    proposal: Plan | Refusal;
}

/**
 * One thing that is not as it could be.
 *
 * `subject` is a drive's serial, a PCI address or a part of the server, never a kernel name; `what` does not repeat
 * it, so that findings that differ in their subject only can be shown as one. `todo` is the remedy, `bay` where the
 * drive is, its bay or its slot.
 */
export interface PlanFinding {
    name: string;
    severity: Severity;
    subject: string;
    what: string;
    todo: string;
    bay: string | null;
}

/**
 * The limit of one layer in bytes/s; None is `not known`.
 *
 * `evidence` is the weakest among the constants behind it. `measure` is what would find out what is not known; a layer
 * that has a limit and a `measure` is at best this fast.
 */
export interface PlanLayer {
    name: "drives" | "pcie" | "memory" | "cpu" | "md" | "nic";
    limit: number | null;
    evidence: "specification" | "textbook" | "calibrated" | "measured" | "derived" | "unknown";
    reason: string;
    measure: string | null;
}

/** One reason why nothing is planned, and all drives that it is about; `todo` is the remedy. */
export interface PlanObstacle {
    drives: DriveName[];
    what: string;
    todo: string;
}

/**
 * One way to use the server. `limit` in bytes/s is the lowest known one, `bound_by` the layer that sets it.
 *
 * It is never a promise: a layer that is not known may be lower.
 */
export interface PlanOutcome {
    direction: "read" | "write";
    transport: "tcp" | "rdma" | "smb";
    state: "healthy" | "degraded";
    limit: number | null;
    bound_by: "drives" | "pcie" | "memory" | "cpu" | "md" | "nic" | null;
    layers: PlanLayer[];
}

/** One partition of a drive: what it is for (data or log) and its size in bytes. */
export interface PlannedPartition {
    role: Role;
    size: number;
}

/** One rung of an estimate, or the reason why it is skipped. */
export interface PlannedRung {
    id: string;
    layer: BenchLayer;
    target: string;
    profile: BenchProfile;
    seconds: number;
    skipped: string | null;
}

/** One key that changes, with its values; null where the planner decides. */
export interface PolicyChange {
    key: string;
    before: JsonValue;
    after: JsonValue;
    when: "now" | "boot" | "new pool";
}

/** What `millrace policy set`, `edit` and `diff` print with --json: the changes, and the units that applied them. */
export interface PolicyChanges {
    schema_version: 1;
    file: string;
    changes: PolicyChange[];
    applied: string[];
}

/**
 * One key, as `layout.spares`. `value` is in force; `default` null leaves the decision to the planner.
 *
 * `is_set`: whether the file has the key. `range` is what it takes, in words, empty where the meaning says it.
 */
export interface PolicyKey {
    key: string;
    meaning: string;
    range: string;
    default: JsonValue;
    value: JsonValue;
    is_set: boolean;
    when: "now" | "boot" | "new pool";
}

/**
 * What `millrace policy show --json` prints: all keys, and the file that the policy comes from, null for none.
 *
 * `problem` is why the file is not in force; then the values are those of the last policy that could be read.
 */
export interface PolicyReport {
    schema_version: 1;
    file: string | null;
    problem: string | null;
    keys: PolicyKey[];
}

/**
 * The pool that exists (`/var/lib/millrace/pool.json`).
 *
 * Members and spares of its arrays are those of now; `generation` counts how often they changed. `drives` has
 * the partitions that were made, a replacement's in the place of those of the drive that it replaced. Each array's
 * `array` stays as the pool was made. `growth`: what is left of a growth of its legs.
 *
 * With `backend` external there are no arrays: the file system lies on the partition of role data, its log on that of
 * role log where there is one, and the partitions are known by their GUIDs on whatever server they appear.
 */
export interface Pool {
    schema_version: 1;
    backend: "md" | "external";
    generation: number;
    plan_sha256: string;
    created: string;
    drives: DriveRecord[];
    arrays: ArrayRecord[];
    filesystem: Filesystem;
    filesystem_uuid: string;
    growth: WaitingGrowth | null;
}

/** What goes first, and what that means for each array now. A warning is a floor that could not be set. */
export interface PoolPriority {
    schema_version: 1;
    priority: "clients" | "balanced" | "rebuild";
    arrays: Floor[];
    warnings: string[];
}

/**
 * The pool as it is now. `notes` are what could not be read, and why.
 *
 * `backends` are the parts of external devices that it lies on; then it has no arrays. `plan` is the title of its
 * plan, null where that cannot be read.
 */
export interface PoolState {
    schema_version: 1;
    created: string;
    plan_sha256: string;
    plan: string | null;
    arrays: LiveArray[];
    backends: LiveBackend[];
    filesystem: LiveFilesystem;
    shares: ShareUsage[];
    notes: string[];
}

/** A network port. `speed` in Mbit/s. */
export interface PortFact {
    name: string;
    driver: string;
    speed: number | null;
    carrier: boolean;
    rdma: string | null;
    link: string | null;
}

/** One network port. */
export interface PortRates {
    name: string;
    receive_bytes_per_second: number | null;
    send_bytes_per_second: number | null;
}

/**
 * Microseconds that each data port waits before an interrupt, or `adaptive`; None is the driver's.
 *
 * `interrupt_cores` of its node take the interrupts of each port; None is one for each queue. Each port has
 * `most_queues` queues at most; None is one for each core of its node. `rx_ring` and `tx_ring` are the descriptors of
 * each of its rings; None is the driver's.
 */
export interface PortSettings {
    rx_usecs: number | "adaptive" | null;
    interrupt_cores: number | null;
    most_queues: number | null;
    rx_ring: number | null;
    tx_ring: number | null;
}

/** The data ports. */
export interface PortsPolicy {
    /** microseconds that each data port waits for more packets before an interrupt; without it the driver's */
    rx_usecs: number | "adaptive" | null;
    /** cores of its NUMA node that take the interrupts of each data port; without it one for each queue */
    interrupt_cores: number | null;
    /** queues of each data port at most; without it one for each core of its NUMA node */
    most_queues: number | null;
    /** descriptors of each receive ring of the data ports; without it the driver's */
    rx_ring: number | null;
    /** descriptors of each transmit ring of the data ports; without it the driver's */
    tx_ring: number | null;
}

/** The outcomes, in the order in which they are shown; degraded is with one drive of each leg gone. */
export interface Prediction {
    outcomes: PlanOutcome[];
}

/**
 * What a change with `--dry-run` would serve: the share, its lines of exports(5) and of smb.conf(5).
 *
 * Where several would be created `share` is the first, and the lines are those of all.
 */
export interface Preview {
    schema_version: 1;
    share: Share;
    exports: string[];
    smb: string[];
}

/** A replica that is a served share now, as it was in `snapshot`. `missing` is what this server lacks, in words. */
export interface Promotion {
    schema_version: 1;
    share: string;
    snapshot: string;
    moment: string;
    missing: string[];
    warnings: string[];
}

/** The lights of all shares, or of one. */
export interface Protection {
    schema_version: 1;
    shares: ShareProtection[];
}

/** How the client reaches the share. */
export type Protocol = "nfs-tcp" | "nfs-tcp-trunked" | "nfs-rdma" | "nfs-rdma-trunked" | "smb-multichannel" | "smb-rdma";

/**
 * What clients of one protocol got in the last second; null is not known, never nothing.
 *
 * `nfs` is NFS over TCP and RDMA together: the kernel counts bytes for both in one. Operations are RPC calls (an
 * NFSv4 compound is one) or SMB2 requests; SMB bytes are with their headers of about 80 bytes. `latency_seconds` is
 * the mean time from a request's arrival to its answer in the server, null where nothing was asked. `clients` over
 * TCP are addresses with a connection: SMB multichannel over two ports of a client counts two.
 */
export interface ProtocolRates {
    name: "nfs-tcp" | "nfs" | "smb";
    read_bytes_per_second: number | null;
    write_bytes_per_second: number | null;
    operations_per_second: number | null;
    latency_seconds: number | null;
    clients: number | null;
}

/** Where the numbers are from. `workload_hash` is over the workloads of all rungs, without site tunables. */
export interface Provenance {
    tool: "millrace bench" | "mlpstorage";
    version: string;
    edition: "millrace-bench-1" | "mlperf-storage-3.0";
    workload_hash: string;
    fio: string;
    started_by: string;
    statement: string;
}

/** How a run of provisioning ended (`millrace provision --json`). */
export interface ProvisionOutcome {
    schema_version: 1;
    state: "provisioned" | "already-provisioned" | "not-approved";
    pool: Pool | null;
}

/** Progress of a build: steps done, steps in all, the active step. */
export interface ProvisionProgress {
    schema_version: 1;
    done: number;
    total: number;
    step: string | null;
}

/** A floor of free space, in percent, above the one that holds. */
export interface RaisedFloor {
    by: string;
    at: string;
    left: number;
    due: string;
    percent: number;
}

/** A server that may read the snapshots of a share of this one, by its address and the CA that it shows. */
export interface ReaderRow {
    share: string;
    address: string;
    fingerprint: string;
}

/** What a rebuild gets of each drive at least beside clients, in KiB/s; None: by redundancy and priority. */
export interface RebuildSettings {
    least: number | null;
}

/**
 * Everything a client needs to mount one share well.
 *
 * Apply `files` (module options, credentials) and `prepare` (commands), then one of three that are equivalent: `fstab`
 * (lines of /etc/fstab) and `fstab_commands`, or `units` (systemd units) and `unit_commands`, or `commands` (a mount
 * until the next boot). `systems` are the steps of other operating systems, none where they cannot open it.
 */
export interface Recipe {
    schema_version: 1;
    share: string;
    workload: ClientWorkload;
    protocol: Protocol;
    host: string;
    mountpoint: string;
    source: string;
    options: RecipeChoice[];
    left_out: RecipeChoice[];
    files: ClientFile[];
    prepare: string[];
    fstab: string[];
    fstab_commands: string[];
    units: ClientFile[];
    unit_commands: string[];
    commands: string[];
    notes: Note[];
    zone: string | null;
    gpu: GpuSettings | null;
    systems: ClientSystem[];
    expect: Expect;
}

/** One option, used or skipped, with the reason. */
export interface RecipeChoice {
    option: string;
    reason: string;
    source: string;
}

/**
 * The file system of the records of NFS clients, an image on the pool.
 *
 * `set_aside` is the file of a damaged one, `problem` why the records have no room of their own.
 */
export interface RecordsRoom {
    schema_version: 1;
    image: string;
    set_aside: string | null;
    problem: string | null;
}

/** Codes that sign in once each where the app is lost; they are not shown again. */
export interface RecoveryCodes {
    schema_version: 1;
    name: string;
    codes: string[];
}

/**
 * A new recovery key: it is in this answer and nowhere else; `key` is null where the next start makes it.
 *
 * `replaced` is whether a previous recovery key ends with it.
 */
export interface RecoveryKey {
    schema_version: 1;
    key: string | null;
    replaced: boolean;
}

/** The reasons why there is no plan. */
export interface Refusal {
    schema_version: 1;
    verdict: "refused";
    obstacles: PlanObstacle[];
    drives: DriveRole[];
}

/** Sectors of each member that may have been written; `end` is the first after them. */
export interface Region {
    begin: number;
    end: number;
}

/**
 * What `millrace share render` changed: file paths, and services that were reloaded.
 *
 * `drift` names files that were edited by hand: kept as they are, or replaced and a copy kept.
 */
export interface RenderReport {
    schema_version: 1;
    changed: string[];
    reloaded: string[];
    warnings: string[];
    drift: string[];
}

/**
 * Ranges that are still to be rewritten; `rewritten` sectors did not match and were.
 *
 * `write_back` is whether blocks of the wrong drive are written from the others, which is still to be done; else
 * parity is computed from the data everywhere; `restored` sectors are written, and `kept` are left as they are because
 * they changed since the check. `least` and `most` are the limits of a synchronisation to restore, and `cache` is the
 * size of md's stripe cache, null while it does not run.
 */
export interface Repair {
    asked: string;
    ranges: MismatchRange[];
    rewritten: number;
    write_back: boolean;
    restored: number;
    kept: number;
    cache: string | null;
    least: string | null;
    most: string | null;
}

/** What the memory and the time of xfs_repair depend on. `inode_size` in bytes, `blocks` of the file system. */
export interface RepairSize {
    inodes: number;
    inode_size: number;
    groups: number;
    blocks: number;
}

/**
 * A repair that came to its end: `rewritten` sectors, of which `left` did not match when they were read again.
 *
 * `restored` of the sectors were written to the wrong drive, from the others. `kept` is why some were not rewritten.
 */
export interface Repaired {
    ended: string;
    rewritten: number;
    left: number;
    restored: number;
    kept: string;
}

/** What rollback or import did. `without_password` are users that were made and cannot log in yet. */
export interface ReplaceReport {
    schema_version: 1;
    serial: number;
    verified: string[];
    warnings: string[];
    without_password: string[];
}

/** The CA of this server, whose certificate it shows to the sources of its replicas. */
export interface ReplicaCertificate {
    schema_version: 1;
    fingerprint: string;
    authority: string;
}

/** What was decided of a replica, or of a server that reads snapshots, in sentences. */
export interface ReplicaChange {
    schema_version: 1;
    share: string;
    done: string[];
    warnings: string[];
}

/** The replicas of this server, and the servers that have replicas of its shares. */
export interface ReplicaList {
    schema_version: 1;
    replicas: ReplicaRow[];
    readers: ReaderRow[];
}

/** How far a replica is: entries of all that the snapshot has, and bytes that were read from the source. */
export interface ReplicaProgress {
    schema_version: 1;
    share: string;
    snapshot: string;
    entries: number;
    total: number;
    fetched: number;
    rate: number;
}

/**
 * How a replica was brought up to date at `at`. Times are ISO 8601 in UTC, sizes in bytes.
 *
 * `snapshot` is the newest one of the source that has a list; `moment` is when the share was like it. `is_new`: it was
 * not here before. `is_newest`: the source had none after it. Of its `entries` `shared` files have all blocks of an
 * earlier snapshot here, of `changed` ones the ranges that differ were read. `fetched` were read from the source,
 * `verified` of them twice. `removed` snapshots were more than are kept. `unread` files the source cannot read: they
 * are missing in the snapshot, whose manifest names some.
 */
export interface ReplicaReport {
    schema_version: 1;
    id: string;
    share: string;
    source: string;
    snapshot: string;
    moment: string;
    at: string;
    is_new: boolean;
    is_newest: boolean;
    entries: number;
    shared: number;
    changed: number;
    fetched: number;
    verified: number;
    seconds: number;
    removed: string[];
    unread: number;
}

/**
 * A replica. `snapshots` are held here; `newest` is the last of them, `moment` when the source was like it.
 *
 * `age` are the seconds since that; `lag` those since it last had the newest snapshot of the source. Null is never.
 * `late` says why it does not protect as it should, in a sentence; null where it does.
 */
export interface ReplicaRow {
    share: string;
    source: string;
    every: number;
    keep: number;
    paused: boolean;
    running: boolean;
    snapshots: number;
    newest: string | null;
    moment: string | null;
    age: number | null;
    lag: number | null;
    late: string | null;
    last: ReplicaState;
}

/**
 * The share of another server that a share is a replica of, until it is promoted.
 *
 * `address` is that of the source, `authority` the certificates (PEM) of the CA that an administrator confirmed by
 * their `fingerprint`. `every` is the period in minutes, `keep` how many snapshots of the source are kept here.
 */
export interface ReplicaSource {
    address: string;
    share: string;
    every: number;
    keep: number;
    paused: boolean;
    authority: string;
    fingerprint: string;
}

/**
 * What is known of a replica: its last runs. `problem` is why the last one ended badly; null where it did not.
 *
 * `since` is when it was added, or when this record began. `tried_at` is when the last run began, or was cancelled;
 * `unfinished` is the order of a run that began and has not ended by itself. `current_at` is when it last had the
 * newest snapshot of the source. `newest` is the last snapshot that came here, `moment` when the source was like it.
 * `distrusted`: files here differed from the source, so the next snapshot is read as a whole.
 */
export interface ReplicaState {
    share: string;
    since: string | null;
    tried_at: string | null;
    unfinished: string | null;
    newest: string | null;
    moment: string | null;
    problem: string | null;
    current_at: string | null;
    report: ReplicaReport | null;
    drill: DrillReport | null;
    distrusted: boolean;
}

/**
 * A rescue, its own write-ahead journal (`/var/lib/millrace/rescue.json`).
 *
 * `by` is a user name, `at` and `ended` are UTC, ISO 8601. `lost` is the UUID of the lost log, `lost_drives` has the
 * serials of its members, `results` what each step ended with. `image` is the file with the metadata as they were
 * found; null where there is none, and `without_image` is true where that was decided. `orphans` counts names in
 * lost+found at the end. `size` is null until the pool is unmounted, and where it could not be found out.
 */
export interface Rescue {
    schema_version: 1;
    id: string;
    by: string;
    at: string;
    lost: string;
    lost_drives: string[];
    steps: StepRecord[];
    results: Record<string, string>;
    image: string | null;
    without_image: boolean;
    size: RepairSize | null;
    judgement: DryRunResult | null;
    new: NewLog | null;
    orphans: number | null;
    ended: string | null;
}

/**
 * Where a rescue is. `lost_drives` has the serials of the members of the lost log.
 *
 * `happened` and `losses` are sentences; `next` is the step to confirm, null at the end. `notes` are about drives that
 * are there and are not used. `new_log` has the drives of the new log in words where that is the next step, or why
 * there are none. `journal` is null before the first step, `work` before the first one of this boot. `ending` has
 * sentences on what is to be done after the last step.
 */
export interface RescueState {
    schema_version: 1;
    lost_drives: string[];
    happened: string;
    losses: string[];
    notes: string[];
    steps: ShownStep[];
    next: "stop" | "image" | "judge" | "log" | "repair" | "serve" | null;
    new_log: string | null;
    journal: Rescue | null;
    work: RescueWork | null;
    ending: string[];
}

/** The rescue that is open, else the last one that ended; null before the first one. `work` is as in RescueState. */
export interface RescueStatus {
    schema_version: 1;
    rescue: RescueState | null;
    work: RescueWork | null;
}

/**
 * A confirmed step, which millrace-rescue.service carries out (`/run/millrace/rescue-step.json`).
 *
 * `by` is a user name, `at` and `ended` are UTC, ISO 8601. `drives`, `image` and `without_image` are what was chosen.
 * `line` is the last line of progress, `progress` is from 0 to 1, null where it is not known. `error` is why the step
 * did not end well; it is interrupted where the unit was ended from outside.
 */
export interface RescueWork {
    schema_version: 1;
    id: string;
    step: "stop" | "image" | "judge" | "log" | "repair" | "serve";
    by: string;
    at: string;
    drives: string[];
    image: string | null;
    without_image: boolean;
    state: "running" | "done" | "failed" | "interrupted";
    line: string | null;
    progress: number | null;
    error: string | null;
    ended: string | null;
}

/**
 * A factory reset. `at` is ISO 8601 in UTC. `pool` is the UUID of the file system of the pool; None without one.
 *
 * `requests` is how often the next boot was asked to reset the server.
 */
export interface Reset {
    schema_version: 1;
    what: "keep" | "forget";
    by: string;
    at: string;
    pool: string | null;
    requests: number;
}

/** Why a factory reset did not begin, in a sentence. `at` is ISO 8601 in UTC. */
export interface ResetFailed {
    schema_version: 1;
    problem: string;
    at: string;
}

/**
 * What a factory reset removes and leaves on this server, and whether one can begin.
 *
 * `host` is what is typed to confirm it. `pool` is the UUID of the file system of the pool, None without one. `shares`
 * stay as directories; `users` and the `domain` are forgotten only where people are. `clients` are connected now.
 * `sealed`: adopting the pool afterwards takes the passphrase. `credentials` are files on the boot partition that stay
 * and apply again. `obstacle` is why no reset can begin now. `under_way` is one that has begun, `failed` why the last
 * one of this boot did not, `last` the one that this server came back from.
 */
export interface ResetStatus {
    schema_version: 1;
    host: string;
    pool: string | null;
    shares: string[];
    users: string[];
    domain: string | null;
    clients: ClientSession[];
    sealed: boolean;
    credentials: string[];
    obstacle: string | null;
    under_way: Reset | null;
    failed: ResetFailed | null;
    last: Reset | null;
}

/** A file of a snapshot that is in a share again; it shares its blocks with the snapshot until they change. */
export interface RestoredFile {
    schema_version: 1;
    source: string;
    target: string;
    bytes: number;
}

/** How many snapshots of a share with this quota project are `kept`; fewer when the `tighter` schedule is due. */
export interface Retention {
    share: string;
    project: number;
    kept: SnapshotSchedule;
    tighter: TighterSchedule | null;
}

/** Sectors of each member whose data are lost, `end` is the first after them, and that XFS does not use any more. */
export interface RetiredRows {
    begin: number;
    end: number;
}

/**
 * What was found or done: areas that are retired now, and what is left of those that are lost, in sectors.
 *
 * `unreadable` are files whose data are lost in these areas, `readable` those that only have blocks beside them,
 * relative to the pool. `left` is what stays in use and why, in sentences.
 */
export interface Retirement {
    schema_version: 1;
    sectors: number;
    retired: number;
    unreadable: string[];
    readable: string[];
    left: string[];
}

/** `millrace tuner revert --json`: the settings that are not in the policy any more. */
export interface Reverted {
    schema_version: 1;
    run: string;
    values: Record<string, number | string>;
}

/** What a revival of the pool does, or did. `sha256` confirms it. `report` has a line for each array afterwards. */
export interface Revival {
    schema_version: 1;
    sha256: string;
    arrays: RevivedArray[];
    done: boolean;
    report: string[];
}

/**
 * An array that does not run or is broken. `needed` is with how many members it starts.
 *
 * `possible`: it can be started. `doubt` is why it does not start by itself. `broke` is when it broke (ISO 8601), null
 * where that was not recorded. `recorded`: the order in which its members failed is. `newer` are the serials of
 * members that may have what was acknowledged after `since` (ISO 8601, null where that is not known) and those to
 * start with lack; `older`: they have it.
 */
export interface RevivedArray {
    uuid: string;
    name: string;
    level: string;
    needed: number;
    broke: string | null;
    possible: boolean;
    doubt: string | null;
    recorded: boolean;
    older: boolean;
    newer: string[];
    since: string | null;
    members: RevivedMember[];
}

/**
 * A member of an array that does not run. `device` is the kernel's name, null for one that is missing.
 *
 * `events` is the event count of its superblock, `written` when that was written last (ISO 8601). `part` is what
 * becomes of it: `current` was a member until the end, `brought-back` left before and is started with, `rebuilt` left
 * earlier and is filled again, `not-filled` never held all of its data, `kept-apart` may be newer than those that are
 * started, and nothing is written to it.
 */
export interface RevivedMember {
    serial: string;
    bay: string | null;
    device: string | null;
    slot: number | null;
    events: number | null;
    written: string | null;
    part: "current" | "brought-back" | "rebuilt" | "not-filled" | "kept-apart" | "missing" | "unreadable";
}

/** The certificates that a CA has revoked. Times are ISO 8601 in UTC; `next_update` is null where there is none. */
export interface RevocationList {
    issuer: string;
    updated: string;
    next_update: string | null;
    revoked: number;
}

/** What a drive is for. */
export type Role = "data" | "log" | "spare" | "boot" | "unused";

/**
 * A check of all arrays, the log first, then the others side by side.
 *
 * The one of the policy runs in its window only.
 */
export interface Round {
    started: string;
    by: "administrator" | "policy";
}

/** `millrace alert route list --json`, and what there is after `add` or `remove`. */
export interface RouteList {
    schema_version: 1;
    routes: ListedRoute[];
}

/**
 * A request for a run. None means: decided by the mode and this server.
 *
 * `seconds` is the length of one repeat, `size` limits the bytes in the pool, `write_drives` are serials of blank
 * drives that may be overwritten, `clients` the names of remote clients for L3, `model` that of the checkpoint.
 */
export interface RunRequest {
    schema_version: 1;
    mode: "quick" | "full";
    layers: BenchLayer[];
    profiles: BenchProfile[];
    seconds: number | null;
    repeats: number | null;
    size: number | null;
    model: "8b" | "70b" | "405b" | "1t";
    degraded: boolean;
    with_clients: boolean;
    write_drives: string[];
    clients: string[];
}

/**
 * One workload at one place. `id` is `L1/xfs/seq/read`; it is the same in every run, for comparisons.
 *
 * `target` is `drives`, a serial, `array`, `xfs`, `nfs-tcp`, `nfs-rdma`, `nfs-local`, `smb` or one of
 * `bench.plan.connections`; `jobs` are those of one client. `median` holds one Moment: the middle over the measured
 * time. `raw` are files with fio's own words, below the directory of the run.
 */
export interface Rung {
    id: string;
    layer: BenchLayer;
    target: string;
    workload: Workload;
    state: BenchState;
    reason: string | null;
    jobs: number;
    seconds: number;
    size: number;
    series: Series[];
    latencies: Latency[];
    parts: RungShare[];
    accelerators: Accelerators[];
    checkpoint: CheckpointTimes | null;
    flags: ("not-repeatable" | "scaled" | "short-reads" | "cached")[];
    median: Moment | null;
    timeline: Moment[];
    ceiling: Ceiling;
    binding: "drives" | "pcie" | "memory" | "cpu" | "md" | "nic" | "nfsd" | "network" | "client" | "latency" | "unknown";
    diagnosis: string;
    raw: string[];
}

/** One drive, or one client, of a rung that drove several at once: its share of the median. */
export interface RungShare {
    name: string;
    bandwidth: number;
    operations: number;
}

/**
 * The sections of the policy that settings depend on, and what the tuner measured and was applied.
 *
 * `copy_from` is the key of that name in the policy's section nfs; what else is there does not change a setting.
 */
export interface RuntimePolicy {
    nfsd: NfsdPolicy;
    md: MdPolicy;
    sysctl: SysctlPolicy;
    smbd: SmbdPolicy;
    ports: PortsPolicy;
    copy_from: string[];
    measured: MeasuredPolicy | null;
}

/**
 * A schedule that is set, or that would be with --dry-run; `plan` is null where a schedule ends.
 *
 * `tighter` is when it removes snapshots that the schedule before keeps; null where it removes none of them.
 */
export interface ScheduleChange {
    schema_version: 1;
    share: string;
    schedule: SnapshotSchedule | null;
    plan: SchedulePlan | null;
    tighter: TighterSchedule | null;
}

/** The schedules of all shares that have one. */
export interface ScheduleList {
    schema_version: 1;
    shares: ScheduledShare[];
}

/**
 * What a schedule will cost, before its first snapshot.
 *
 * A snapshot has `entries` files and directories, takes about so many `seconds` (by an earlier snapshot or clone where
 * `measured`), and its `metadata` in bytes of the pool. When all `kept` snapshots are there, they hold `held` bytes of
 * metadata, and what clients changed or removed since the oldest of them. `free` are bytes of the pool above the
 * floor of the policy, of `floor` percent. `obstacle` is why such a schedule cannot hold.
 */
export interface SchedulePlan {
    share: string;
    schedule: SnapshotSchedule | null;
    entries: number;
    seconds: number;
    measured: boolean;
    metadata: number;
    kept: number;
    held: number;
    free: number;
    floor: number;
    obstacle: string | null;
}

/**
 * How the last scheduled snapshot of a share ended; `seconds` is how long the last complete one took.
 *
 * `at` is ISO 8601 in UTC. `problem` is why there is none, null where it is complete.
 */
export interface ScheduleTry {
    share: string;
    kind: "hourly" | "daily" | "weekly" | "monthly";
    at: string;
    seconds: number | null;
    problem: string | null;
}

/** The schedule of a share, its snapshots, and how the last scheduled one ended. */
export interface ScheduledShare {
    share: string;
    schedule: SnapshotSchedule;
    snapshots: ShareSnapshots;
    last: ScheduleTry | null;
}

/**
 * JSON Schemas by the words of the verb. `lines` are the verbs that print one document a line until they end.
 *
 * The schemas share `$defs`. `inputs` are the rules of what may be typed or chosen: `checks` of a text are its
 * patterns in their order, each with the sentence for what does not match; $0 stands for the text, $1 for its length.
 */
export interface Schema {
    schema_version: 1;
    outputs: Record<string, Record<string, JsonValue>>;
    lines: string[];
    inputs: Record<string, Record<string, JsonValue>>;
    "$defs": Record<string, Record<string, JsonValue>>;
}

/** One measured combination. `score` is relative to the plan's settings (1 is equal), null where it failed. */
export interface ScoredReading {
    started: string;
    seconds: number;
    figures: Record<string, number>;
    validity: "valid" | "censored" | "failed";
    reason: string | null;
    number: number;
    phase: "baseline" | "screen" | "refine" | "confirm" | "guard";
    combination: Record<string, number | string>;
    score: number | null;
}

/**
 * One array: what is kept of its checks, and the check or repair that runs; `sync` is null where none does.
 *
 * `files` are those in doubt by its last check, null where they were not searched for yet or none can be; `doubt` is
 * the same in words, empty where all sectors match. `wrong` has the drives that are wrong, in sentences, and why
 * others are not known. `restorable` sectors of data and parity are written to the wrong drive by a repair. `lost` are
 * sectors of each member that can neither be read nor rebuilt, and are in use: `millrace pool scrub retire`.
 */
export interface ScrubOfArray {
    kept: ArrayScrub;
    sync: Sync | null;
    files: FileSearch | null;
    doubt: string;
    wrong: string[];
    restorable: number;
    lost: number;
}

/**
 * The checks of all arrays and of the file system; `round` is null between two rounds.
 *
 * `stopped` without a round: why the last one ended early. `files` is the last search for files in doubt, null where
 * there was none.
 */
export interface ScrubRecord {
    schema_version: 1;
    round: Round | null;
    stopped: ScrubStop | null;
    arrays: ArrayScrub[];
    filesystem: FilesystemScrub | null;
    files: FileSearch | null;
}

/**
 * The checks of the pool. `window` and `every` are those of the policy, `pace` is how fast they read.
 *
 * `problem` is why they do not keep the period, with what to change; null where they do. `next` is when the policy
 * begins or goes on with a check (ISO 8601), null for never. `round` is the one that is under way, and `stopped` why
 * it waits, or without a round why the last one ended early. `filesystem` is null where it was never checked.
 */
export interface ScrubStatus {
    schema_version: 1;
    window: string;
    every: "week" | "month" | "quarter" | "never";
    pace: CheckPace;
    problem: string | null;
    next: string | null;
    round: Round | null;
    stopped: ScrubStop | null;
    arrays: ScrubOfArray[];
    filesystem: FilesystemScrub | null;
}

/** Why a round does not go on: a sentence, and what it was in one word. */
export interface ScrubStop {
    at: string;
    by: "administrator" | "window" | "service" | "array" | "benchmark";
    reason: string;
}

/**
 * A check of one array that came to its end. `bytes` were read from all members, in so many `seconds` of reading.
 *
 * `mismatches` in sectors of 512 bytes, with where they are in `ranges`; `bad_areas` in md's lists of bad blocks.
 * `started` and `ended` are ISO 8601 in UTC; a check that took several windows lasted longer than it read.
 * `floor_kib` is what md was to read of each drive in KiB/s at least, null for a check of an earlier release.
 * `located` are blocks of these ranges by drive, and `unlocated` why some or all have none, empty where all have.
 */
export interface Scrubbed {
    started: string;
    ended: string;
    bytes: number;
    seconds: number;
    mismatches: number;
    bad_areas: number;
    ranges: MismatchRange[];
    floor_kib: number | null;
    located: LocatedBlocks[];
    unlocated: string;
}

/** How the key of the secrets is made of a passphrase: scrypt (RFC 7914) with `salt` and its three costs. */
export interface Seal {
    salt: string;
    n: 131072;
    r: 8;
    p: 1;
}

/** What `pool find` found; `problem` is a sentence where there is no pool that could be adopted, with a remedy. */
export interface SearchResult {
    schema_version: 1;
    pool: FoundPool | null;
    problem: string | null;
    todo: string | null;
}

/** One quantity over the repeats. `spread` is the largest distance from the median, as a part of it. */
export interface Series {
    quantity: "bandwidth" | "operations";
    direction: "read" | "write" | "commit" | "create" | "stat" | "delete";
    values: number[];
    median: number;
    low: number;
    high: number;
    spread: number;
    repeatable: boolean;
}

/**
 * `memory` in bytes. Nodes count where they have CPUs: the kernel makes neither threads nor pools for others.
 *
 * `cores_per_node`: of the smallest node. `nic_nodes`: nodes with a data port. `nic_cores`: physical cores near the
 * data ports, that is of their nodes and of what else is in the same socket. `port_cores`: by node with a data port.
 */
export interface Server {
    memory: number;
    cores: number;
    cores_per_node: number;
    compute_nodes: number;
    nic_cores: number;
    nic_nodes: number[];
    port_cores: Record<string, number>;
}

/**
 * How this server serves: what a new version may not do worse.
 *
 * `arrays` are the members in sync of each array by name; `exported` are the directories that NFS exports.
 */
export interface Serving {
    pool: boolean;
    arrays: Record<string, number>;
    nfs: boolean;
    smb: boolean;
    exported: string[];
    console: boolean;
}

/** A session. `since` is ISO 8601 in UTC; `address` is that of the browser or the ssh client, empty at a console. */
export interface SessionEntry {
    id: string;
    name: string;
    where: "web console" | "ssh" | "console" | "other";
    address: string;
    since: string | null;
}

/** All clients. `warnings` are what could not be read. */
export interface SessionList {
    schema_version: 1;
    sessions: ClientSession[];
    warnings: string[];
}

/**
 * One setting that is not what it was at the last boot, and what caused it.
 *
 * `before_text` and `after_text` are the values with readable sizes. `at` (ISO 8601 in UTC) is when it came in force;
 * None where it has not yet.
 */
export interface SettingChange {
    name: string;
    before: JsonValue;
    after: JsonValue;
    before_text: string;
    after_text: string;
    reason: string;
    source: string;
    causes: ("hardware" | "policy" | "pool" | "release" | "unknown")[];
    at: string | null;
}

/**
 * All runtime settings; `values` has each with its reason and its source.
 *
 * `warnings` name overrides of the policy that this server cannot use: they are ignored. `unused` is why measured
 * settings are not in force. `basis` is None for settings that were taken from the approved plan.
 */
export interface Settings {
    nfsd: Nfsd;
    md: MdSettings;
    sysctl: Record<string, string>;
    values: Decision[];
    members: MemberSettings;
    rebuild: RebuildSettings;
    degraded_reads: DegradedReads;
    io: IoSettings;
    smbd: SmbdSettings;
    ports: PortSettings;
    warnings: string[];
    unused: string | null;
    basis: Basis | null;
}

/**
 * The settings in force (`/run/millrace/settings.json`, `/var/lib/millrace/settings.json`).
 *
 * `release` computed them, `at` (ISO 8601 in UTC) is when they came in force. `changes` are those since the last boot.
 * `problem` is why they could not be computed in this boot; then they are those of an earlier one.
 */
export interface SettingsFile {
    schema_version: 1;
    release: string;
    at: string;
    settings: Settings;
    changes: SettingChange[];
    problem: string | null;
}

/** INFO: good to know. WARN: it costs speed or safety. FAIL: it must not stay like this. */
export type Severity = "info" | "warn" | "fail";

/**
 * One directory of the pool that clients mount.
 *
 * `nfs` is whether it is for NFS. `networks` are the clients of its export; none means that it is not exported, and
 * `obstacle` is why if it should be. `fsid` identifies it in NFS file handles: it must never change while clients have
 * it mounted. Sizes in bytes; `used` is null where quotas are off or were not read. `homes` are the directories for
 * users below it, with their numbers. `sealed`: it stays read-only until an administrator unseals it. `child_size`
 * limits each directory at its top, in bytes; `used` counts these, too. `direct` is who may open it over SMB Direct;
 * it is not on Samba then, and `smb` is null. `writing` is who may write, null where the type has a rule of its own;
 * `group` are the users who write, `gid` is its number, null where a domain knows it. `snapshots` is its schedule,
 * `exported_snapshots` the directory of its snapshots where NFS clients may read them, `read_snapshots` where other
 * servers, `readers`, may. `replica_of` is the share of another server that it is a replica of, as ADDRESS:SHARE.
 */
export interface Share {
    name: string;
    path: string;
    type: "training" | "checkpoint" | "dataset-ro" | "home" | "mixed";
    comment: string;
    project: number;
    size: number | null;
    soft_size: number | null;
    used: number | null;
    nfs: boolean;
    networks: string[];
    exports: NfsClient[];
    privileged_ports: boolean;
    fsid: string;
    smb: SmbAccess | null;
    homes: Record<string, number>;
    obstacle: string | null;
    sealed: boolean;
    child_size: number | null;
    direct: DirectAccess | null;
    writing: "together" | "own" | "some" | null;
    group: string | null;
    gid: number | null;
    snapshots: SnapshotSchedule | null;
    exported_snapshots: string | null;
    readers: NfsClient[];
    read_snapshots: string | null;
    replica_of: string | null;
}

/** One SMB client that has a share open. `since` is ISO 8601 with its zone; `files` the number of its open files. */
export interface ShareConnection {
    host: string;
    user: string;
    since: string;
    files: number;
}

/** SMB clients of one share. `files` are some of the `open_files` files that they have open. */
export interface ShareConnections {
    clients: ShareConnection[];
    files: OpenFile[];
    open_files: number;
}

/**
 * One share; `writers` is who may write, in words.
 *
 * `caching` is whether SMB clients may cache, null without Samba. `connections` are its SMB clients, null where they
 * cannot be read, `problem` is why: only root can. `verification` is the last one, null where there was none.
 * `denials` is what becomes of entries that deny access; null where no SMB client sets access lists.
 *
 * `owner`, `group` and `mode` (octal) are those of its directory, null where it cannot be read; `follows` is whether
 * they are those of the rule for writing, access lists included; null where that cannot be read.
 */
export interface ShareDetails {
    schema_version: 1;
    share: Share;
    writers: string;
    owner: string | null;
    group: string | null;
    mode: string | null;
    follows: boolean | null;
    denials: "kept" | "refused" | "dropped" | null;
    caching: "clients" | "none" | null;
    connections: ShareConnections | null;
    problem: string | null;
    verification: KeptVerification | null;
}

/** All shares of this server, and the last verification of each that was verified. */
export interface ShareList {
    schema_version: 1;
    shares: Share[];
    verifications: KeptVerification[];
}

/**
 * `millrace share log`: the newest entries, oldest first. `audit` is whether accesses are recorded now.
 *
 * `lost` is what journald dropped since the first of them.
 */
export interface ShareLog {
    schema_version: 1;
    share: string;
    audit: boolean;
    entries: ShareLogEntry[];
    lost: ShareLogLoss[];
}

/**
 * What one user did with one file over SMB; `target` is the new name of a renamed file.
 *
 * `at` is ISO 8601 in UTC; paths are below the share.
 */
export interface ShareLogEntry {
    at: string;
    user: string;
    host: string;
    action: "read" | "opened to write" | "created" | "renamed" | "deleted" | "permissions changed";
    path: string;
    target: string | null;
}

/** `lines` of the SMB server that journald dropped before `at`. */
export interface ShareLogLoss {
    at: string;
    lines: number;
}

/** The lights of a share: here, on a second server, off site. */
export interface ShareProtection {
    share: string;
    lights: Light[];
}

/**
 * The snapshots of a share by kind: how many, and when the newest was made (ISO 8601 in UTC).
 *
 * `removals` are to be removed, as was ordered, and `locked` have a lock.
 * Those of a former share of this name do not count, nor those whose time has yet to come by the clock.
 */
export interface ShareSnapshots {
    share: string;
    held: Record<string, number>;
    newest: Record<string, string>;
    removals: number;
    locked: number;
}

/** Usage and limit of a share in bytes; `used` is null where XFS does not count or was not read yet. */
export interface ShareUsage {
    name: string;
    path: string;
    used: number | null;
    size: number | null;
    soft_size: number | null;
}

/**
 * Whether one share is served as it should be: what was verified, and the first thing that is wrong, or null.
 *
 * `files` are files that SMB clients cannot see, open or tell apart, in sentences.
 */
export interface ShareVerification {
    name: string;
    seen: string[];
    problem: string | null;
    files: string[];
}

/**
 * Commands for one model, with the sizes that the rules ask for.
 *
 * `files` and `size` are of the data set, or of all checkpoints; `processes` of the checkpoint, else of one run.
 * `fits`: whether the pool has that much free now.
 */
export interface Sheet {
    kind: "training" | "checkpointing" | "kv_cache";
    model: string;
    accelerators: number | null;
    files: number | null;
    size: number | null;
    processes: number;
    fits: boolean | null;
    forecast: Forecast | null;
    commands: string[];
    notes: Note[];
}

/**
 * One step: what it does, and how it ended.
 *
 * `need` is a sentence on memory and time of a step that runs xfs_repair, null before the pool is unmounted, for
 * other steps, and at its end.
 */
export interface ShownStep {
    name: "stop" | "image" | "judge" | "log" | "repair" | "serve";
    title: string;
    explanation: string;
    need: string | null;
    state: "pending" | "started" | "done";
    result: string | null;
}

/**
 * The result of `millrace share repair-sid`: the SID of the machine, and whether Samba had another one.
 *
 * `restarted`: smbd restarts, which ends sessions. `right` is the number of files that name their owner by it;
 * `replaced` of files that named the owner by a former SID; `held` of files that clients hold, which were left.
 */
export interface SidReport {
    schema_version: 1;
    sid: string;
    set_back: boolean;
    restarted: boolean;
    right: number;
    replaced: Record<string, number>;
    held: number;
}

/** The sessions of this server. */
export interface SignInList {
    schema_version: 1;
    sessions: SessionEntry[];
}

/**
 * The SMB side of a share. No network named: serve/share/networks.py. Guests have no access.
 *
 * `io_uring` off is for a kernel on which it misbehaves: smbd then reads and writes in threads of its own. `direct`:
 * served over SMB Direct by the kernel, and not by Samba. `audit`: Samba records who opens and changes files.
 * `previous_versions`: clients of Samba see the snapshots of the share.
 */
export interface Smb {
    enabled: boolean;
    users: string[];
    groups: string[];
    networks: string[];
    encryption: "offered" | "required";
    time_machine: boolean;
    io_uring: boolean;
    direct: boolean;
    audit: boolean;
    previous_versions: boolean;
}

/**
 * Users and groups that may open a share over SMB. `networks` in CIDR form; without one no client can reach it.
 *
 * `audit` is whether Samba records who opens and changes files, `previous_versions` whether clients see snapshots.
 */
export interface SmbAccess {
    users: string[];
    groups: string[];
    networks: string[];
    encryption: "offered" | "required";
    time_machine: boolean;
    io_uring: boolean;
    audit: boolean;
    previous_versions: boolean;
}

/** The SMB server. */
export interface SmbdPolicy {
    /** credits of each connection over SMB: requests under way, of which a large one counts once for each 64 KiB; without it Samba's 8192 */
    max_credits: number | null;
    /** smallest read or write of SMB in bytes that is asynchronous; without it Samba's 1, all of them */
    aio_min_bytes: number | null;
}

/**
 * What smbd has for each connection: credits, and the smallest read or write in bytes that is asynchronous.
 *
 * A credit is a request, or 64 KiB of a large one.
 */
export interface SmbdSettings {
    max_credits: number;
    aio_min_bytes: number;
}

/**
 * How `newer` differs from `older`: numbers of files and directories, the first entries by path, how many more.
 *
 * A directory that was moved counts once, with what it holds. Of one that was added or removed all that it holds
 * counts. `unread` entries were moved, replaced or held by clients while they were compared, could not be read, or
 * are below more directories than are compared; `unread_names` are some of them.
 */
export interface SnapshotComparison {
    schema_version: 1;
    older: string;
    newer: string;
    compared: number;
    added: number;
    changed: number;
    permissions: number;
    moved: number;
    removed: number;
    unread: number;
    unread_names: string[];
    entries: SnapshotDifference[];
    more: number;
}

/**
 * An entry that differs. `path` is its name in the newer tree, in the older one of what was removed.
 *
 * `former` is where a `moved` entry was. `bytes` are those of a file. `permissions` have another owner, group or mode
 * and the same content; one that was moved as well is there twice.
 */
export interface SnapshotDifference {
    what: "added" | "changed" | "permissions" | "moved" | "removed";
    kind: "file" | "directory" | "link" | "other";
    path: string;
    former: string | null;
    bytes: number;
}

/** The first entries of a directory of a snapshot by name, and how many more there are. */
export interface SnapshotDirectory {
    schema_version: 1;
    place: string;
    entries: SnapshotEntry[];
    more: number;
}

/** What is in a directory of a snapshot: its name fit for one line, `bytes` of a file, when its content changed. */
export interface SnapshotEntry {
    name: string;
    kind: "file" | "directory" | "link" | "other";
    bytes: number;
    changed: string;
}

/** A snapshot that stays: its removal, which `by` had ordered, is cancelled. */
export interface SnapshotKept {
    schema_version: 1;
    share: string;
    name: string;
    by: string;
}

/**
 * The snapshots of this server, or of one share, the oldest of each share first.
 *
 * `tighter` are the shares whose schedule keeps fewer of them after the waiting time, and `floor` is the floor of free
 * space if it rises then; null where it does not.
 * `problem` is why it is not known which of them are locked or to be removed; nothing is removed then.
 */
export interface SnapshotList {
    schema_version: 1;
    snapshots: SnapshotRow[];
    tighter: Retention[];
    floor: KeptFloor | null;
    problem: string | null;
}

/**
 * A snapshot that nothing removes before `until`, as `by` decided at `at` (both ISO 8601 in UTC).
 *
 * `left` are the seconds for which a server has yet to run with this pool: no change of the clock ends a lock earlier.
 */
export interface SnapshotLock {
    share: string;
    name: string;
    by: string;
    at: string;
    until: string;
    left: number;
}

/** A snapshot that nothing removes before `until` (ISO 8601 in UTC). `cancelled`: a removal of it was ordered. */
export interface SnapshotLocked {
    schema_version: 1;
    share: string;
    name: string;
    until: string;
    cancelled: boolean;
}

/**
 * What a snapshot is. Times are in UTC.
 *
 * Each file is as it was at one moment between `first` and `last`. With `moment` the whole tree is as it was at that
 * moment: nothing changed while it was taken, or all that did was taken again. Without, `changed_count` files and
 * directories changed until the end, and `changed` names some of them; the name of a directory ends with a slash.
 * `project` is the quota project of the share, which no later share of this name has. `entries` are files and
 * directories, `bytes` those of their blocks, which the snapshot shares with the share until they change. `skipped`
 * are devices and what is mounted, `taken_again` what changed meanwhile and was taken again. `bare_count` files and
 * directories, of which `bare` names some, have more extended attributes than the kernel lists: they are in the
 * snapshot with their access lists and without the other attributes. `unread_count` files, of which `unread` names
 * some, are missing in the snapshot of a replica, as its source could not read them. `type` is the type of the share
 * at the time; null in snapshots of earlier releases.
 */
export interface SnapshotManifest {
    schema_version: 1;
    id: string;
    share: string;
    project: number;
    name: string;
    kind: "manual" | "hourly" | "daily" | "weekly" | "monthly" | "before-rollback" | "backup" | "restored";
    by: string;
    first: string;
    last: string;
    moment: string | null;
    entries: number;
    bytes: number;
    skipped: number;
    taken_again: number;
    changed_count: number;
    changed: string[];
    type: "training" | "checkpoint" | "dataset-ro" | "home" | "mixed" | null;
    bare_count: number;
    bare: string[];
    unread_count: number;
    unread: string[];
}

/** How far a snapshot is: files and directories done of all that were counted; `total` is null while it counts. */
export interface SnapshotProgress {
    schema_version: 1;
    share: string;
    phase: "count" | "clone" | "scan";
    done: number;
    total: number | null;
    seconds_left: number | null;
}

/**
 * A server that may read the snapshots of a share, for its replica.
 *
 * An administrator confirmed its CA by this `fingerprint`. `is_added`: the CA is trusted for replicas alone, and no
 * longer when no reader has it.
 */
export interface SnapshotReader {
    address: string;
    fingerprint: string;
    is_added: boolean;
}

/** A snapshot that is to be removed, when that is expected (ISO 8601 in UTC), and in how many seconds. */
export interface SnapshotRemoval {
    schema_version: 1;
    share: string;
    name: string;
    by: string;
    due: string;
    left: number;
}

/** A share that is what a snapshot of it was; what it held before is the snapshot `kept`. */
export interface SnapshotRollback {
    schema_version: 1;
    share: string;
    snapshot: string;
    kept: string;
}

/**
 * One snapshot. `manifest` is null where it cannot be read, and `problem` says why.
 *
 * Viewers list snapshots: `changed`, `bare` and `unread` of the manifest are empty here: they have names of files.
 * `former`: the share of this name is another one by now, or there is none. `removal` is ordered, and waits; null
 * where none is. `lock` keeps it until its date; null where it is not locked.
 */
export interface SnapshotRow {
    share: string;
    name: string;
    former: boolean;
    manifest: SnapshotManifest | null;
    problem: string | null;
    removal: OrderedRemoval | null;
    lock: SnapshotLock | null;
}

/**
 * How many snapshots of each kind are kept; none of a kind is made where that is 0.
 *
 * `large`: also of a share with more files and directories than snapshots are made of without a question.
 */
export interface SnapshotSchedule {
    hourly: number;
    daily: number;
    weekly: number;
    monthly: number;
    large: boolean;
}

/** Bytes of a mounted file system. */
export interface Space {
    size: number;
    used: number;
    free: number;
}

/** Whether ssh accepts connections. */
export interface SshReport {
    schema_version: 1;
    ssh: boolean;
}

/** One of the compared sets: the medians of its readings in the guard; `score` is relative to the plan's. */
export interface Standing {
    side: "candidate" | "plan" | "default";
    combination: Record<string, number | string>;
    figures: Record<string, number>;
    score: number | null;
    readings: number;
}

/**
 * The status contract (`millrace status --json`).
 *
 * `next` is what to do, the worst first: each remedy behind the sentence that it belongs to. `as_root` is false where
 * the user may not read everything: parts of `health` are then the last results of root, of `health.at`. `notes` are
 * what could not be read, and why. `uptime` is the seconds since this server was started. `fed` is how many
 * accelerators it keeps busy; null is not known.
 */
export interface Status {
    schema_version: 1;
    product: "Millrace";
    version: string;
    hostname: string;
    uptime: number;
    addresses: Address[];
    health: Health;
    next: string[];
    pool: Pool | null;
    space: Space | null;
    shares: Share[];
    jobs: CurrentJob[];
    fed: Fed | null;
    as_root: boolean;
    notes: string[];
}

/** One step of a transaction. `started` is on disk before the first byte is written. */
export interface StepRecord {
    name: string;
    state: "pending" | "started" | "done";
}

/** What a plan would be built in (`millrace provision --dry-run --json`). */
export interface Steps {
    schema_version: 1;
    plan_sha256: string;
    steps: string[];
}

/**
 * What the server reaches at most beside its network, in bytes/s; None is not known. It is never a promise.
 *
 * `bound_by` is the layer that sets it, `evidence` how well the constants behind it are known.
 */
export interface StreamLimit {
    limit: number | null;
    bound_by: "drives" | "pcie" | "memory" | "cpu" | "md" | "nic" | null;
    evidence: "specification" | "textbook" | "calibrated" | "measured" | "derived" | "unknown" | null;
}

/** The description of this server for a submission, and a sheet for each model. `unknown` are its open fields. */
export interface Submission {
    schema_version: 1;
    edition: string;
    system: ClientFile;
    unknown: string[];
    free: number;
    sheets: Sheet[];
}

/**
 * The next CA of this server: from `takes_over` (ISO 8601, UTC) on it issues the certificates.
 *
 * `waiting` are names and addresses of this server that the present CA may not certify; they are in the certificate
 * from then on.
 */
export interface Succession {
    schema_version: 1;
    takes_over: string;
    authority: Certificate;
    waiting: string[];
}

/** The archive, with every file in it. */
export interface SupportArchive {
    schema_version: 1;
    file: string;
    parts: SupportPart[];
}

/** What an archive of this server will have; nothing is collected for it. */
export interface SupportContents {
    schema_version: 1;
    files: SupportFile[];
}

/** One file that an archive has, and what it is. */
export interface SupportFile {
    name: string;
    what: string;
}

/** One file of the archive: what it is, its bytes, and why it could not be made, null where it could. */
export interface SupportPart {
    name: string;
    what: string;
    size: number;
    problem: string | null;
}

/**
 * Files that may be damaged. `listed` of `count` are in the list, `by_parity` of them first, in torn rows.
 *
 * The others are a guess, by rows that hold files written last. `complete`: no other file is possible. `others` is
 * what else is in these rows, and `more_others` are not listed. `notes` are sentences: what is not known.
 */
export interface Suspects {
    count: number;
    listed: number;
    complete: boolean;
    by_parity: number;
    others: string[];
    more_others: number;
    notes: string[];
}

/** What md does with an array. `progress` from 0 to 1, null while it waits for another array on the same drives. */
export interface Sync {
    action: "first synchronisation" | "rebuild" | "check" | "repair" | "reshape";
    progress: number | null;
    bytes_per_second: number | null;
    seconds_left: number | null;
}

/** Memory of the kernel. */
export interface SysctlPolicy {
    /** dirty page cache in bytes at which writers wait, a multiple of 4096 */
    dirty_bytes: number | null;
}

/** One step on a client: a path to open, a command to type, or a command that shows whether it worked. */
export interface SystemStep {
    kind: "path" | "command" | "check";
    text: string;
}

/** `millrace alert test --json`: one result for each route. */
export interface TestReport {
    schema_version: 1;
    results: TestResult[];
}

/** How a test ended: `problem` is null where the route delivered it. */
export interface TestResult {
    id: string;
    route: string;
    problem: string | null;
}

/** A schedule that keeps fewer snapshots than the one before; about so many are `removed` by it. */
export interface TighterSchedule {
    by: string;
    at: string;
    left: number;
    due: string;
    wanted: SnapshotSchedule;
    removed: number;
}

/**
 * The server. `sockets` is how many it has; `nfsd` counts the threads that run on any node.
 *
 * `planned` tells whether the arrays are those of a plan that is not built yet.
 */
export interface Topology {
    schema_version: 1;
    cpu_model: string;
    sockets: number;
    nodes: TopologyNode[];
    arrays: TopologyArray[];
    planned: boolean;
    nfsd: NfsdThreads;
    findings: TopologyFinding[];
}

/** One array of the pool, or of the plan while there is no pool. `over` are its legs. */
export interface TopologyArray {
    name: string;
    level: "raid0" | "raid1" | "raid5" | "raid6";
    role: Role;
    over: string[];
}

/**
 * One drive at its place. `state` is what was on it at boot, `role` what the plan has for it.
 *
 * `array` is the one that administrators know (data, log), `leg` the part of it that the drive is in where it has
 * legs; `member` is its state in md now, null where it is in no array. `present` is false for a drive that was pulled.
 * `bay` is the bay, else the slot. Temperature in degrees Celsius, wear in percent of the rated endurance, at boot.
 */
export interface TopologyDrive {
    serial: string;
    name: string;
    model: string;
    bay: string | null;
    size_bytes: number;
    state: DriveState;
    present: boolean;
    role: Role | null;
    array: string | null;
    leg: string | null;
    member: "in-sync" | "rebuilding" | "spare" | "faulty" | "missing" | "unknown" | null;
    pci_address: string | null;
    link: TopologyLink | null;
    temperature_celsius: number | null;
    wear_percent: number | null;
}

/** One thing of the hardware that is not as it could be. */
export interface TopologyFinding {
    name: string;
    severity: Severity;
    subject: string;
    what: string;
    todo: string;
    where: Where;
}

/** A PCIe link: GT/s of a lane and lanes now, and the most that device and slot can do together. */
export interface TopologyLink {
    gts: number;
    width: number;
    gts_most: number;
    width_most: number;
}

/**
 * One NUMA node with its devices; `node` is null where the firmware does not report it.
 *
 * `nfsd` counts the threads that run on this node only.
 */
export interface TopologyNode {
    node: number | null;
    socket: number | null;
    cpus: string;
    cores: number;
    memory_bytes: number;
    drives: TopologyDrive[];
    ports: TopologyPort[];
    nfsd: NfsdThreads;
}

/**
 * One network port. `link` is whether it has one. `irq_cpus` are the CPUs that take its interrupts, as a list.
 *
 * `rdma` is its RDMA device; `software_rdma`: that is made of software.
 */
export interface TopologyPort {
    name: string;
    driver: string;
    speed_mbit: number | null;
    link: boolean;
    addresses: string[];
    rdma: string | null;
    software_rdma: boolean;
    queues: number;
    irq_cpus: string;
    pci_address: string | null;
    slot: string | null;
    pcie: TopologyLink | null;
}

/** Sectors of each member in which P and Q do not match; `end` is the first after them. */
export interface TornRows {
    begin: number;
    end: number;
}

/** A version of a driver or a tool that is known not to work; `date` is that of the source. */
export interface Trap {
    id: string;
    date: string;
    problem: string;
    fix: string;
    source: string;
}

/**
 * A version that is installed and not accepted yet, and how the one before it served.
 *
 * `tries` counts its boots; `problems` is what was worse at the end of the last one.
 */
export interface Trial {
    schema_version: 1;
    version: string;
    before: string;
    at: string;
    by: string;
    serving: Serving;
    tries: number;
    problems: string[];
}

/** The last change of the network. `seconds` are those that are left to confirm it while it is `waiting`. */
export interface TrialReport {
    who: string;
    what: string;
    state: "applying" | "waiting" | "failed" | "confirmed" | "rolled-back";
    seconds: number;
    problem: string | null;
    verified: string[];
    warnings: string[];
}

/**
 * The trims of the file system `uuid`; `round` is null between two trims, `last` before the first.
 *
 * `stopped` without a round: what kept a trim from its beginning, or by "plan" what ended the last one early.
 */
export interface TrimRecord {
    schema_version: 1;
    uuid: string;
    round: TrimRound | null;
    stopped: TrimStop | null;
    last: Trimmed | null;
}

/**
 * A trim that has not come to its end. It goes on at byte `offset` of `size`, with a slice of `slice` bytes.
 *
 * One of the policy runs in the window only. The other fields are those of a trim at its end, until now.
 */
export interface TrimRound {
    started: string;
    by: "administrator" | "policy";
    size: number;
    offset: number;
    slice: number;
    bytes: number;
    seconds: number;
    longest: number;
}

/**
 * The trims of the pool. `hindrance` is why free space is never trimmed, null where it is.
 *
 * `window` is that of the policy, `share` the part of the time in it that a trim takes at most. `next` is when a trim
 * begins or goes on (ISO 8601), null for never. `round` is the one that is not at its end, `running` whether it runs
 * now, and `stopped` why it waits, ended early or did not begin. `last` is null before the first.
 */
export interface TrimStatus {
    schema_version: 1;
    hindrance: string | null;
    window: string;
    share: number;
    next: string | null;
    running: boolean;
    round: TrimRound | null;
    stopped: TrimStop | null;
    last: Trimmed | null;
}

/** Why a trim does not go on: a sentence, and what it was in one word. */
export interface TrimStop {
    at: string;
    by: "administrator" | "window" | "service" | "array" | "benchmark" | "check" | "plan" | "refused";
    reason: string;
}

/**
 * A trim that came to the end of the file system.
 *
 * `bytes` were trimmed in so many `seconds`: FITRIM, and the drives after it; `longest` is that of one slice.
 * `started` and `ended` are ISO 8601 in UTC; with its pauses, and over several windows, a trim lasted longer.
 */
export interface Trimmed {
    started: string;
    ended: string;
    bytes: number;
    seconds: number;
    longest: number;
}

/** One kind of power that the state gives. `details` tell it from another: fingerprints, a URL, hosts. */
export interface Trusted {
    kind: "people" | "password" | "ssh-keys" | "ssh" | "update-keys" | "updates" | "alerts" | "backups" | "journal" | "client-networks" | "readers" | "replicas" | "network";
    details: string[];
}

/** The CAs whose certificates an mtls client may use, and what they have revoked. */
export interface TrustedAuthorities {
    schema_version: 1;
    trusted: Certificate[];
    revocations: RevocationList[];
}

/** A CA of the server: the SHA-256 of its certificate as browsers show it, and when clients need it. */
export interface TrustedAuthority {
    fingerprint: string;
    needed_from: string | null;
}

/**
 * `settings` is how many were compared, `unreadable` how many of them could not be read.
 *
 * A warning names a setting that is missing, refuses its value or waits for a restart; `managed` are those that the
 * kernel keeps for itself. `changes` are the settings that are computed otherwise than at the last boot.
 */
export interface TuneReport {
    schema_version: 1;
    settings: number;
    drift: Drift[];
    warnings: string[];
    managed: string[];
    unreadable: number;
    changes: SettingChange[];
}

/**
 * What a run would try and how long. `each` are the seconds of one reading, `least` those of the shortest run.
 *
 * `fewest` is the number of its readings, `layout` the seconds before the first. `obstacles` prevent a start now.
 */
export interface TunerEstimate {
    schema_version: 1;
    goals: Goal[];
    knobs: TunerKnob[];
    left_out: LeftOut[];
    each: number;
    fewest: number;
    layout: number;
    least: number;
    budget: number;
    space: number;
    obstacles: string[];
}

/**
 * One setting of the whitelist with the levels that may be tried; `default` and `planned` are among them.
 *
 * `ordered`: the levels ascend, and neighbours are alike; otherwise they are categories. `setting` is what an
 * administrator finds it by.
 */
export interface TunerKnob {
    name: string;
    title: string;
    setting: string;
    levels: (number | string)[];
    ordered: boolean;
    default: number | string;
    planned: number | string;
    cost: "none" | "pause" | "link" | "restart";
}

/**
 * What was found. `winner` equals the plan's settings for the verdict `plan`.
 *
 * `gain` is the candidate's over the plan's from `rounds` interleaved pairs, `noise` what it may be by chance; both
 * null where there was nothing to compare. `reason` is one sentence.
 */
export interface TunerOutcome {
    verdict: "plan" | "candidate";
    winner: Record<string, number | string>;
    plan: Record<string, number | string>;
    default: Record<string, number | string>;
    candidate: Record<string, number | string> | null;
    gain: number | null;
    noise: number | null;
    rounds: number;
    reason: string;
    standings: Standing[];
}

/**
 * One line of `millrace tuner run --json`. `progress` is 0..1 of the budget; the last line is not `running`.
 *
 * `started` is the time of day, null where the run did not begin. `combination` is what is measured now, `goal` the
 * test of it; null while nothing is measured.
 */
export interface TunerProgress {
    schema_version: 1;
    run: string;
    time: number;
    started: string | null;
    state: TunerState;
    what: string;
    phase: "baseline" | "screen" | "refine" | "confirm" | "guard" | null;
    combination: Record<string, number | string> | null;
    goal: Goal | null;
    readings: number;
    progress: number;
    seconds_left: number | null;
    best: number | null;
}

/**
 * One run of the tuner. `budget` in seconds; `goals` as weighted by the profile or the administrator.
 *
 * `refused` are settings that a driver did not take when the run began.
 */
export interface TunerRun {
    schema_version: 1;
    id: string;
    started: string;
    ended: string | null;
    state: TunerState;
    reason: string | null;
    host: string;
    versions: Versions;
    environment: Environment | null;
    profile: string | null;
    budget: number;
    knobs: TunerKnob[];
    goals: Goal[];
    clients: string[];
    refused: LeftOut[];
    readings: ScoredReading[];
    effects: Effect[];
    outcome: TunerOutcome | null;
}

/** `millrace tuner list --json`, newest first. `broken` names directories that hold no run. */
export interface TunerRunList {
    schema_version: 1;
    runs: TunerRunSummary[];
    broken: string[];
}

/** One line of the list. `gain` of the candidate over the plan; `applied`: its settings are in the policy. */
export interface TunerRunSummary {
    id: string;
    started: string;
    ended: string | null;
    state: TunerState;
    reason: string | null;
    profile: string | null;
    readings: number;
    verdict: "plan" | "candidate" | null;
    gain: number | null;
    applied: boolean;
}

/** `millrace tuner start --json`. */
export interface TunerStarted {
    schema_version: 1;
    run: string;
    unit: string;
    estimate: TunerEstimate;
}

/** How far a run is. */
export type TunerState = "pending" | "running" | "done" | "failed" | "stopped" | "interrupted";

/** `millrace tuner status --json`. `left` are settings of a run that could not be restored. */
export interface TunerStatus {
    schema_version: 1;
    running: boolean;
    progress: TunerProgress | null;
    applied: MeasuredPolicy | null;
    left: string[];
}

/** `millrace tuner stop --json`. `running` is whether a run was active, `restored` what was put back. */
export interface TunerStopped {
    schema_version: 1;
    running: boolean;
    restored: string[];
}

/**
 * One start. `last_write` is when md last wrote its superblocks, `started` when it was forced, both ISO 8601.
 *
 * `missing` are serials, `slots` their places in the array, null where they are not known yet. `events` is how often
 * md had written the superblocks before the start, null in records of older versions. `dated` is false where the clock
 * or a superblock contradicts `last_write`: times do not show which files were written then. `check`
 * compares P and Q: `none` without a second parity, `waiting` until its end, `found` with the `torn` rows recorded,
 * `done` once they are repaired, `failed` for the reason in `problem`. `rough`: a row in `torn` may match. `outside`:
 * the array broke, and something else than Millrace started it again, with members that may not be equal: the first
 * one left at `since`, ISO 8601, or before that where not `dated`. `last_write` is when the array broke then.
 * `regions` may have been written before the start, by the bitmap right after it; null where that is not known.
 * `older`: an administrator started it with a member that left before others, so all that was written since
 * `last_write` may be old.
 */
export interface Unclean {
    array: string;
    level: string;
    last_write: string;
    started: string;
    missing: string[];
    events: number | null;
    dated: boolean;
    check: "none" | "waiting" | "found" | "done" | "failed";
    slots: number[] | null;
    torn: TornRows[];
    rough: boolean;
    problem: string | null;
    outside: boolean;
    since: string | null;
    regions: Region[] | null;
    older: boolean;
}

/**
 * All starts that are not acknowledged (`/var/lib/millrace/unclean.json`). `suspects` is null until the search.
 *
 * `acknowledged` has the latest other start of each array, by its name: the array is checked after it all the same.
 */
export interface UncleanStarts {
    schema_version: 1;
    starts: Unclean[];
    suspects: Suspects | null;
    acknowledged: Record<string, string>;
}

/**
 * A check of one array that has not come to its end: it goes on at `sector` of each member, of `sectors`.
 *
 * `least` and `most` are the limits of a synchronisation to restore, null while it does not run. `floor_kib` as of
 * `Scrubbed`.
 */
export interface UnderWay {
    started: string;
    sector: number;
    sectors: number;
    seconds: number;
    mismatches: number;
    least: string | null;
    most: string | null;
    ranges: MismatchRange[];
    floor_kib: number | null;
}

/** The progress of an update: what it does, and bytes or percent done of all; null is not known. */
export interface UpdateProgress {
    schema_version: 1;
    step: string;
    done: number | null;
    total: number | null;
}

/**
 * The versions of this server.
 *
 * `trial` is the version that is installed and not accepted yet: it starts at the next boot, or runs now. `other` is
 * null also where only root can see it. `refusal` is why no update can be installed at all. `reboot` is the time of a
 * planned restart, and `reboot_deferred` why it waits after that time. `etc_kept` are files below /etc that were
 * changed on this server and of which this version has another; `etc_problem` is why /etc is not as this version
 * brings it. `warnings` say why the source of updates may withhold releases.
 */
export interface UpdateStatus {
    schema_version: 1;
    version: string;
    other: OtherVersion | null;
    trial: Trial | null;
    last: LastUpdate | null;
    failed: FailedVersion[];
    url: string | null;
    refusal: string | null;
    reboot: string | null;
    reboot_deferred: string | null;
    etc_kept: string[];
    etc_problem: string | null;
    running: boolean;
    progress: UpdateProgress | null;
    warnings: string[];
}

/** The progress of an upload in bytes; the last line has the `offer`: what was uploaded and is verified. */
export interface UploadLine {
    schema_version: 1;
    received: number;
    size: number;
    offer: Offer | null;
}

/**
 * A local user; its own group has the same name and number.
 *
 * `role`: manages this server, and opens no share. Without one it is a user of shares, who signs in nowhere.
 * `console` is what release 0.1.0 calls the role viewer; it follows from `role`.
 */
export interface User {
    full_name: string;
    keys: string[];
    locked: boolean;
    name: string;
    uid: number;
    groups: string[];
    role: "administrator" | "operator" | "viewer" | null;
    console: boolean;
}

/** The users that shares can name; `admin` is made at first boot and always there. */
export interface UserList {
    schema_version: 1;
    users: User[];
}

/** The result of `millrace share verify`. */
export interface VerifyReport {
    schema_version: 1;
    shares: ShareVerification[];
}

/** The software that measured. */
export interface Versions {
    millrace: string;
    kernel: string;
    fio: string;
}

/** One volume. */
export interface VolumeDetails {
    schema_version: 1;
    volume: VolumeRow;
}

/**
 * How a volume is exported. `shared`: several hosts may write it, and NVMe reservations are on.
 *
 * `addresses`: addresses and networks of the hosts, as the firewall lets them in; none: all client networks, which an
 * export of an earlier release has.
 */
export interface VolumeExport {
    transport: "tcp" | "rdma";
    port: number;
    hosts: string[];
    shared: boolean;
    addresses: string[];
}

/** All volumes, sorted by name. */
export interface VolumeList {
    schema_version: 1;
    volumes: VolumeRow[];
}

/** A change of a volume: how it is now, None where it was removed, and what to know about it. */
export interface VolumeReport {
    schema_version: 1;
    name: string;
    volume: VolumeRow | null;
    done: string;
    warnings: string[];
}

/**
 * One volume. `size` and `allocated` in bytes: what is not allocated was discarded by its host.
 *
 * `export` None: it is not exported. `connect`: the line that connects it on a host, for each address; what stands
 * for the secret is to be replaced there. `problem`: why it is not served as it should be, in words.
 */
export interface VolumeRow {
    name: string;
    uuid: string;
    nqn: string;
    size: number;
    allocated: number;
    origin: string | null;
    created: string;
    by: string;
    export: VolumeExport | null;
    authenticated: boolean;
    addresses: string[];
    connect: string[];
    connected: ConnectedHost[];
    problem: string | null;
}

/**
 * Legs that have grown, and the RAID0 `array` over them, which uses them after the next start of the arrays.
 *
 * The pool gains `gain` bytes. `by` is a user name. `started`: the array uses them, and the file system has to grow.
 */
export interface WaitingGrowth {
    array: string;
    gain: number;
    by: string;
    started: boolean;
}

/** What a finding is about: serials of drives, names of ports, NUMA nodes; nothing for the whole server. */
export interface Where {
    drives: string[];
    ports: string[];
    nodes: number[];
}

/** For whom this process runs; `role` is null where the account has none. */
export interface WhoReport {
    schema_version: 1;
    name: string;
    role: "administrator" | "operator" | "viewer" | null;
}

/**
 * What is done, without what depends on the site: `sha256` over the other fields is comparable between servers.
 *
 * `pattern` in words; `block` in bytes, `depth` requests in flight of one job; `equivalent` names the benchmark of
 * which this is a smaller one, where it is not the original.
 */
export interface Workload {
    profile: BenchProfile;
    operation: "read" | "write" | "mixed" | "fsync" | "create" | "stat" | "delete" | "save" | "load" | "train" | "stress" | "throughput" | "large" | "stream" | "small";
    pattern: string;
    block: number | null;
    depth: number;
    engine: string;
    durable: boolean;
    equivalent: string | null;
    sha256: string;
}

/** One host name with all addresses of this server, for a zone file of the site's name server. */
export interface Zone {
    schema_version: 1;
    name: string;
    addresses: string[];
    text: string;
}

/** By the words of the verb: the document that it prints, or each of its lines. */
export interface Outputs {
    "access create": PersonReport;
    "access disconnect": SignInList;
    "access key add": PersonReport;
    "access key remove": PersonReport;
    "access list": AccessList;
    "access lock": PersonReport;
    "access log": ChangeLog;
    "access remove": PersonReport;
    "access second-factor confirm": RecoveryCodes;
    "access second-factor enroll": EnrolmentReport;
    "access second-factor remove": PersonReport;
    "access sessions": SignInList;
    "access set": PersonReport;
    "access ssh": SshReport;
    "access unlock": PersonReport;
    "access who": WhoReport;
    "admin check": CheckReport;
    "admin create": AdminReport;
    "alert ack": AlertList;
    "alert list": AlertList;
    "alert route add mail": RouteList;
    "alert route add syslog": RouteList;
    "alert route add webhook": RouteList;
    "alert route list": RouteList;
    "alert route remove": RouteList;
    "alert test": TestReport;
    "apply": ApplyReport;
    "approve": Approval | ProvisionProgress | Pool;
    "assemble": Pool;
    "backend connect": ConnectionReport;
    "backend disconnect": ConnectionReport;
    "backend list": ConnectionList;
    "backup add": BackupAdded;
    "backup attach": BackupAdded;
    "backup check": BackupProgress | BackupEnd;
    "backup drill": BackupProgress | BackupEnd;
    "backup list": BackupList;
    "backup password": BackupPassword;
    "backup pause": BackupPaused;
    "backup remove": BackupPaused;
    "backup restore": BackupProgress | BackupEnd;
    "backup resume": BackupPaused;
    "backup run": BackupProgress | BackupEnd;
    "backup show": BackupRow;
    "backup versions": BackupVersions;
    "bench clients add": BenchClients;
    "bench clients list": BenchClients;
    "bench clients remove": BenchClients;
    "bench clients take": BenchRun;
    "bench compare": Comparison;
    "bench estimate": BenchEstimate;
    "bench follow": BenchProgress;
    "bench import": BenchRun;
    "bench list": BenchRunList;
    "bench run": BenchProgress;
    "bench show": BenchRun;
    "bench start": BenchStarted;
    "bench stop": BenchStopped;
    "certificate install": CertificateChange;
    "certificate renew": CertificateChange;
    "certificate request": CertificateRequest;
    "certificate show": CertificateReport;
    "certificate trust add": TrustedAuthorities;
    "certificate trust crl": TrustedAuthorities;
    "certificate trust list": TrustedAuthorities;
    "certificate trust remove": TrustedAuthorities;
    "client expect": Expect;
    "client kubernetes": KubernetesRecipe;
    "client mlperf": Submission;
    "client recipe": Recipe;
    "client zone": Zone;
    "config diff": ConfigDiff;
    "config history": ConfigHistory;
    "config import": ReplaceReport;
    "config rollback": ReplaceReport;
    "config show": Config;
    "domain join": MembershipChange;
    "domain leave": MembershipChange;
    "domain show": DomainReport;
    "drive add": DriveProposal | ChangeProgress | DriveChange;
    "drive add --dry-run": DriveProposal;
    "drive apply": LastChange;
    "drive erase": EraseProgress | Erasure;
    "drive list": DriveList;
    "drive locate": LocatedDrive;
    "drive progress": LastChange;
    "drive remove": DriveProposal | ChangeProgress | DriveChange;
    "drive remove --dry-run": DriveProposal;
    "drive replace": DriveProposal | ChangeProgress | DriveChange;
    "drive replace --dry-run": DriveProposal;
    "drive resume": DriveProposal | ChangeProgress | DriveChange;
    "drive show": DriveReport;
    "drive test": DriveTestProgress | DriveTest;
    "drive test --cancel": DriveTests;
    "encryption rebind": Bound;
    "encryption recovery-key": RecoveryKey;
    "encryption show": Encryption;
    "encryption suspend": Bound;
    "group create": AccountReport;
    "group list": GroupList;
    "group remove": AccountReport;
    "health": Health;
    "history": HistoryReport;
    "install list": InstallReport;
    "install write": InstallStep | Installed;
    "inventory": Inventory;
    "job cancel": JobStatus;
    "job follow": JobStatus;
    "job list": JobList;
    "job show": JobStatus;
    "keep list": KeepList;
    "keep now": KeepStatus;
    "keep passphrase": KeepStatus;
    "keep records": LockRecords;
    "keep room": RecordsRoom;
    "keep run": KeepStatus;
    "keep status": KeepStatus;
    "keep use-local": KeepStatus;
    "metrics off": MetricsEndpoint;
    "metrics on": MetricsEndpoint;
    "metrics status": MetricsEndpoint;
    "network bond": NetworkChange;
    "network confirm": NetworkChange;
    "network dns": NetworkChange;
    "network hostname": NetworkChange;
    "network ntp": NetworkChange;
    "network path-mtu": PathMtu;
    "network remove": NetworkChange;
    "network rollback": NetworkChange;
    "network routes": NetworkChange;
    "network set": NetworkChange;
    "network show": NetworkReport;
    "network vlan": NetworkChange;
    "plan": PlanFile;
    "plan --explain": Explanation;
    "plan --layouts": LayoutChoices;
    "policy diff": PolicyChanges;
    "policy edit": PolicyChanges;
    "policy set": PolicyChanges;
    "policy show": PolicyReport;
    "pool acknowledge": UncleanStarts;
    "pool adopt": Adopted;
    "pool adopt --detach": FoundHere;
    "pool adopting": Adopted;
    "pool destroy": DestroyStatus | DestroyProgress | Destruction;
    "pool destroy --status": DestroyStatus;
    "pool find": SearchResult;
    "pool found": FoundHere;
    "pool grow": DriveProposal | ChangeProgress | DriveChange;
    "pool grow --dry-run": DriveProposal;
    "pool priority": PoolPriority;
    "pool record": Pool;
    "pool rescue": RescueState;
    "pool rescue --status": RescueStatus;
    "pool rescuing": RescueStatus;
    "pool revive": Revival;
    "pool scrub files": DamagedFiles;
    "pool scrub filesystem": ScrubRecord;
    "pool scrub repair": ScrubStatus;
    "pool scrub retire": Retirement;
    "pool scrub run": ScrubRecord;
    "pool scrub start": ScrubStatus;
    "pool scrub status": ScrubStatus;
    "pool scrub stop": ScrubStatus;
    "pool show": PoolState;
    "pool trim run": TrimRecord;
    "pool trim start": TrimStatus;
    "pool trim status": TrimStatus;
    "pool trim stop": TrimStatus;
    "pool unclean": UncleanStarts;
    "pool verify": Pool;
    "protection show": Protection;
    "provision": ProvisionOutcome;
    "provision --dry-run": Steps;
    "replica add": ReplicaChange;
    "replica allow": ReplicaChange;
    "replica certificate": ReplicaCertificate;
    "replica deny": ReplicaChange;
    "replica drill": ReplicaProgress | DrillReport;
    "replica list": ReplicaList;
    "replica pause": ReplicaChange;
    "replica promote": SnapshotProgress | Promotion;
    "replica remove": ReplicaChange;
    "replica resume": ReplicaChange;
    "replica status": ReplicaList;
    "replica sync": ReplicaProgress | ReplicaReport;
    "reset run": Reset;
    "reset show": ResetStatus;
    "reset start": ResetStatus;
    "schema": Schema;
    "session list": SessionList;
    "share clone": CloneProgress | Clone;
    "share clone --dry-run": CloneForecast;
    "share clone-cancel": Clone;
    "share clone-status": CloneStatus;
    "share copy": CopyProgress | CopyReport;
    "share create": ChangeReport;
    "share create --dry-run": Preview;
    "share disconnect": DisconnectReport;
    "share list": ShareList;
    "share log": ShareLog;
    "share networks list": ClientNetworks;
    "share networks set": ChangeReport;
    "share permissions": PermissionsProgress | PermissionsReport;
    "share remove": ChangeReport;
    "share render": RenderReport;
    "share repair-sid": SidReport;
    "share set": ChangeReport;
    "share set --dry-run": Preview;
    "share show": ShareDetails;
    "share unseal": ChangeReport;
    "share verify": VerifyReport;
    "snapshot browse": SnapshotDirectory;
    "snapshot compare": SnapshotComparison;
    "snapshot create": SnapshotProgress | SnapshotManifest;
    "snapshot get": RestoredFile | CloneProgress | Clone;
    "snapshot keep": SnapshotKept;
    "snapshot list": SnapshotList;
    "snapshot lock": SnapshotLocked;
    "snapshot remove": SnapshotRemoval;
    "snapshot rollback": SnapshotProgress | SnapshotRollback;
    "snapshot schedule": ScheduleChange;
    "snapshot schedules": ScheduleList;
    "status": Status;
    "support": SupportArchive;
    "support --hardware-report": HardwareReport;
    "support --list": SupportContents;
    "topology": Topology;
    "tune": TuneReport;
    "tune --settings": SettingsFile;
    "tuner apply": Applied;
    "tuner estimate": TunerEstimate;
    "tuner follow": TunerProgress;
    "tuner list": TunerRunList;
    "tuner revert": Reverted;
    "tuner run": TunerProgress;
    "tuner show": TunerRun;
    "tuner start": TunerStarted;
    "tuner status": TunerStatus;
    "tuner stop": TunerStopped;
    "update apply": LastUpdate;
    "update check": Offer;
    "update install": LastUpdate;
    "update reboot": UpdateStatus;
    "update rollback": LastUpdate;
    "update source": UpdateStatus;
    "update status": UpdateStatus;
    "update upload": UploadLine;
    "user create": AccountReport;
    "user list": UserList;
    "user passwd": AccountReport;
    "user remove": AccountReport;
    "user render": UserList;
    "user set": AccountReport;
    "volume clone": VolumeReport;
    "volume create": VolumeReport;
    "volume detach": VolumeReport;
    "volume export": VolumeReport;
    "volume list": VolumeList;
    "volume remove": VolumeReport;
    "volume resize": VolumeReport;
    "volume show": VolumeDetails;
    "watch": LiveSample;
}

/** These verbs print lines, one JSON document each, until they are done. */
export type LineVerb = "approve" | "backup check" | "backup drill" | "backup restore" | "backup run" | "bench follow" | "bench run" | "drive add" | "drive erase" | "drive remove" | "drive replace" | "drive resume" | "drive test" | "install write" | "job follow" | "pool destroy" | "pool grow" | "replica drill" | "replica promote" | "replica sync" | "share clone" | "share copy" | "share permissions" | "snapshot create" | "snapshot get" | "snapshot rollback" | "tuner follow" | "tuner run" | "update upload" | "watch";
