# SPDX-License-Identifier: Apache-2.0
"""What the validation of MLPerf Storage asks of a description of a system: each of its rules, in words of our own.

github.com/mlcommons/storage, mlpstorage_py/system_description: schema.yaml and schema_validator.py, read on 2026-11-25.
The tool itself is in no package registry (asked for on that day). Switches are left out: a description has none.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Words = Annotated[str, Field(min_length=1)]
Number = Annotated[int, Field(ge=1, strict=True)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Supply(Strict):
    unit_count: Number
    inlet_voltage: Number
    nameplate_power_watts: Number
    efficiency: Literal["Standard", "Bronze", "Silver", "Gold", "Platinum", "Titanium", "Ruby", "Unrated"]


class Power(Strict):
    min_psus_active: Number
    psus_configured: list[Supply] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_as_many(self) -> "Power":
        if self.min_psus_active > sum(one.unit_count for one in self.psus_configured):
            raise ValueError("more power supplies are needed than there are")
        return self


class Chassis(Strict):
    model_name: Words
    rack_units: Number | None = None
    cpu_model: Words
    cpu_qty: Number
    cpu_cores: Number
    memory_capacity: Number
    power: Power | None = None


class Port(Strict):
    unit_count: Number
    type: Literal["ethernet", "infiniband", "other"]
    state: Literal["up", "down"]
    speed: Number | None = None
    traffic: list[Literal["management", "data", "metadata", "backend"]] | None = None

    @model_validator(mode="after")
    def _says_enough(self) -> "Port":
        if self.state == "up" and not (self.speed and self.traffic):
            raise ValueError("a port that is up has a speed and a role")
        return self


class Drives(Strict):
    unit_count: Number
    vendor_name: Words
    model_name: Words
    interface: Literal["nvme", "sas", "sata", "other"]
    media_type: Literal["HDD", "TLC", "QLC", "other"]
    capacity_in_GB: Number


class Setting(Strict):
    name: Words
    value: Words


class System(Strict):
    name: Words
    version: Words


class Node(Strict):
    friendly_description: Words
    quantity: Number
    chassis: Chassis
    networking: list[Port] | None = None
    drives: list[Drives] | None = None
    operating_system: System
    environment: list[Setting] | None = None
    sysctl: list[Setting] | None = None


class Architecture(Strict):
    storage_location: Literal["remote", "local", "remote_and_local"]
    benchmark_API: Literal["file", "object"]
    product_API: Literal["file", "object", "block"]
    client_footprint: Literal["open_source", "closed_source", "n/a"]
    client_installation: Literal["in_box", "installable", "n/a"]

    @model_validator(mode="after")
    def _has_a_client_or_none(self) -> "Architecture":
        if (self.client_footprint == "n/a") != (self.client_installation == "n/a"):
            raise ValueError("both of the client are n/a or none is")
        return self


class Capabilities(Strict):
    multi_host: bool
    simultaneous_write: bool
    simultaneous_read: bool
    remap_time_in_seconds: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _remaps_or_shares(self) -> "Capabilities":
        if (self.simultaneous_write and self.simultaneous_read) != (self.remap_time_in_seconds == 0):
            raise ValueError("only what is shared for reads and writes needs no time to remap")
        return self


class Solution(Strict):
    submission_name: Words
    friendly_description: Words
    architecture: Architecture
    capabilities: Capabilities


class Tested(Strict):
    solution: Solution
    deployment: Literal["onprem", "cloud"]
    product_nodes: list[Node] | None = None
    total_rack_units: Annotated[int, Field(ge=0, strict=True)] | None = None
    rack_power_supplies: list[Power] | None = None
    clients: list[Node]

    @model_validator(mode="after")
    def _is_in_a_rack_or_in_a_cloud(self) -> "Tested":
        nodes = [*(self.product_nodes or []), *self.clients]
        parts = [part for one in nodes for part in (one.chassis.rack_units, one.chassis.power)]
        if self.deployment == "onprem" and None in (*parts, self.total_rack_units):
            raise ValueError("nodes in a rack have rack units and power")
        if self.deployment == "cloud" and (any(parts) or self.rack_power_supplies):
            raise ValueError("nodes in a cloud have neither rack units nor power")
        return self

    @model_validator(mode="after")
    def _adds_up(self) -> "Tested":
        units = sum((one.chassis.rack_units or 0) * one.quantity for one in self.product_nodes or [])
        if self.total_rack_units not in (None, units):
            raise ValueError("total_rack_units is the sum of the nodes")
        return self

    @model_validator(mode="after")
    def _is_connected(self) -> "Tested":
        remote = self.solution.architecture.storage_location != "local"
        if remote and not all(one.networking for one in (*(self.product_nodes or []), *self.clients)):
            raise ValueError("nodes of remote storage have ports")
        return self


class Description(Strict):
    system_under_test: Tested
