# SPDX-License-Identifier: Apache-2.0
"""Settings found by measurement on this very server: screened, refined and compared with the plan's."""
