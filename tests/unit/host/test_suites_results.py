# SPDX-License-Identifier: Apache-2.0
"""What the suites print is read as the result of each of their tests."""

from host.soak_rows import FAILED, PASSED, SKIPPED
from host.suites import results

SUBUNIT = """\
smbtorture 4.25.1-Debian-4.25.1+dfsg-1
time: 2026-11-29 17:00:00.000000
test: smb2.lock.valid-request
success: smb2.lock.valid-request
test: smb2.lock.cancel-logoff
failure: smb2.lock.cancel-logoff [
../../source4/torture/smb2/lock.c:1234: status was NT_STATUS_CONNECTION_DISCONNECTED
success: of a test that is only quoted here
]
test: smb2.charset.Testing partial surrogate
failure: smb2.charset.Testing partial surrogate [
]
test: smb2.lock.replay
skip: smb2.lock.replay [
needs leases
]
test: smb2.lock.zerobytelock
"""
PYNFS = """\
SEQ1     st_sequence.testSupported                                : RUNNING
SEQ1     st_sequence.testSupported                                : PASS
**************************************************
SEQ1     st_sequence.testSupported                                : PASS
COMP3    st_compound.testUndefined                                : FAILURE
           OP_COMPOUND should return NFS4ERR_INVAL
CSID9    st_current_stateid.testOpenFreeStateID                   : WARNING
SSV1     st_ssv.testCreate                                        : UNSUPPORTED
**************************************************
Command line asked for 4 of 265 tests
"""
PJDFSTEST = """\
chmod::ctime::regular                                                       ok
symlink::enametoolong                                                   FAILED
\tassertion failed: FAILED
chflags::set                                                            skipped
\trequires features: chflags

Summary: 1 failed, 1 skipped, 1 passed, 0 expected failures, 3 total
"""


def test_result_of_each_test_of_smbtorture_is_read_and_one_that_did_not_end_failed() -> None:
    assert results.of_smbtorture(SUBUNIT) == {
        "smb2.lock.valid-request": PASSED,
        "smb2.lock.cancel-logoff": FAILED,
        "smb2.charset.Testing partial surrogate": FAILED,
        "smb2.lock.replay": SKIPPED,
        "smb2.lock.zerobytelock": FAILED,
    }


def test_result_of_each_test_of_pynfs_is_read_and_a_warning_is_a_success() -> None:
    assert results.of_pynfs(PYNFS) == {"SEQ1": PASSED, "COMP3": FAILED, "CSID9": PASSED, "SSV1": SKIPPED}


def test_result_of_each_test_of_pjdfstest_is_read() -> None:
    assert results.of_pjdfstest(PJDFSTEST) == {
        "chmod::ctime::regular": PASSED,
        "symlink::enametoolong": FAILED,
        "chflags::set": SKIPPED,
    }


def test_listed_tests_have_the_names_of_their_results_and_their_groups() -> None:
    listed = "local.util\nsmb2.connect.connect\nsmb2.lock.lock\nsmb2.lock.multiple-unlock\nsmb2.ioctl.shadow_copy\n"
    tests = results.tests_of_smbtorture(listed)
    assert tests == ["smb2.connect", "smb2.lock", "smb2.lock.multiple-unlock", "smb2.ioctl.shadow_copy"]
    assert results.groups_of(tests) == ["smb2.connect", "smb2.lock", "smb2.ioctl"]
    assert results.not_ended({"smb2.connect": PASSED}, tests) == tests[1:]
