# SPDX-License-Identifier: Apache-2.0
"""The documents of a kept state have what can be used."""

import pytest

from millrace.lifecycle.keep.model import Seal
from millrace.system.documents import checked
from millrace.system.errors import BadInput


@pytest.mark.parametrize("salt", ["", "abc", "0g", "00" * 65])
def test_salt_that_is_no_bytes_is_refused(salt: str) -> None:
    with pytest.raises(BadInput):
        checked(lambda: Seal(salt=salt))
    assert Seal(salt="00ff").salt == "00ff"
