# SPDX-License-Identifier: Apache-2.0
"""Settings found by measurement on this server: screened, refined, confirmed, and compared with those of the plan."""
