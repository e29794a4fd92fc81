# SPDX-License-Identifier: Apache-2.0
"""The mark of stories that wait to be seen passing."""

import os

import pytest

# A story that was written and has not been seen to pass as a whole.
unproven = pytest.mark.skipif(
    "MILLRACE_UNPROVEN" not in os.environ,
    reason="not seen to pass yet: run it with MILLRACE_UNPROVEN=1 on an idle host, mend what fails, take the mark away",
)
