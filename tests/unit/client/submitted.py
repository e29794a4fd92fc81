# SPDX-License-Identifier: Apache-2.0
"""What the validation of MLPerf Storage asks of a description of a system, written after its schema.

github.com/mlcommons/storage, mlpstorage_py/system_description: schema.yaml and schema_validator.py (2026). The tool
itself is in no package registry (asked for mlpstorage on 2026-11-24).
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


class Chassis(Strict):
    model_name: Words
    rack_units: Number
    cpu_model: Words
    cpu_qty: Number
    cpu_cores: Number
    memory_capacity: Number
    power: Power


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
    networking: list[Port]
    drives: list[Drives] | None = None
    operating_system: System
    sysctl: list[Setting] | None = None


class Architecture(Strict):
    storage_location: Literal["remote", "local", "remote_and_local"]
    benchmark_API: Literal["file", "object"]
    product_API: Literal["file", "object", "block"]
    client_footprint: Literal["open_source", "closed_source", "n/a"]
    client_installation: Literal["in_box", "installable", "n/a"]


class Capabilities(Strict):
    multi_host: bool
    simultaneous_write: bool
    simultaneous_read: bool
    remap_time_in_seconds: Annotated[int, Field(ge=0)]


class Solution(Strict):
    submission_name: Words
    friendly_description: Words
    architecture: Architecture
    capabilities: Capabilities


class Tested(Strict):
    solution: Solution
    deployment: Literal["onprem", "cloud"]
    product_nodes: list[Node]
    total_rack_units: Annotated[int, Field(ge=0, strict=True)]
    clients: list[Node]

    @model_validator(mode="after")
    def _adds_up(self) -> "Tested":
        if self.total_rack_units != sum(one.chassis.rack_units * one.quantity for one in self.product_nodes):
            raise ValueError("total_rack_units is the sum of the nodes")
        return self


class Description(Strict):
    system_under_test: Tested
