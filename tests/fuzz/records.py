# SPDX-License-Identifier: Apache-2.0
"""The records of a pool as a kept state brings them: each is read as what its first byte chooses."""

from pathlib import Path

from millrace.lifecycle.keep.model import KeptElsewhere, KeyFile, Manifest
from millrace.observe.alert.model import Routes
from millrace.plan.model import Plan
from millrace.storage.record.apart_record import ApartMembers
from millrace.storage.record.erasure import Erasures
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import ScrubRecord
from millrace.system.documents import parse_model

KINDS = (Pool, Plan, Manifest, KeptElsewhere, KeyFile, Routes, ApartMembers, Erasures, ScrubRecord)


def check(data: bytes) -> None:
    """Read the input."""
    if data:
        parse_model(data[1:], Path("record.json"), KINDS[data[0] % len(KINDS)])
