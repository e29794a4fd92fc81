// SPDX-License-Identifier: Apache-2.0
/** Documents of verbs until millrace.ts is generated from the program's own schemas. */

export type Level = "OK" | "WARN" | "UNKNOWN" | "FAIL";

export interface HealthFinding { check: string; level: Level; sentence: string; todo: string | null }
export interface Health { at: string; level: Level; findings: HealthFinding[] }
export interface Job { name: string; what: string; progress: number | null; seconds_left: number | null }
export interface Space { size: number; free: number }
export interface Share { name: string; smb: boolean; networks: string[] }

export interface Status {
    product: string;
    version: string;
    hostname: string;
    addresses: string[];
    health: Health;
    pool: object | null;
    space: Space | null;
    shares: Share[];
    jobs: Job[];
}

export interface Protocol {
    name: string;
    read_bytes_per_second: number | null;
    write_bytes_per_second: number | null;
    operations_per_second: number | null;
    latency_seconds: number | null;
    clients: number | null;
}

export interface Watch {
    time: number;
    health: Level;
    protocols: Protocol[];
    drives: { read_bytes_per_second: number | null; write_bytes_per_second: number | null };
    jobs: Job[];
}

export interface Link { gts: number; width: number; gts_most: number; width_most: number }

export interface TopologyDrive {
    serial: string;
    name: string;
    model: string;
    bay: string | null;
    size_bytes: number;
    state: string;
    role: string | null;
    array: string | null;
    leg: string | null;
    link: Link | null;
    temperature_celsius: number | null;
    wear_percent: number | null;
}

export interface TopologyPort {
    name: string;
    driver: string;
    speed_mbit: number | null;
    up: boolean;
    link: Link | null;
    rdma: boolean;
    queues: number | null;
    irq_cpus: string | null;
    addresses: string[];
}

export interface TopologyNode {
    node: number | null;
    cpus: string;
    memory_bytes: number | null;
    drives: TopologyDrive[];
    ports: TopologyPort[];
    nfsd: { threads: number; cpus: string } | null;
}

export interface AuditFinding { name: string; severity: "info" | "warn" | "fail"; subject: string; what: string; todo: string }
export interface Topology { nodes: TopologyNode[]; findings: AuditFinding[] }

export interface Outputs {
    status: Status;
    watch: Watch;
    topology: Topology;
    plan: object;
    approve: object;
}
