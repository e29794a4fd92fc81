# SPDX-License-Identifier: Apache-2.0
"""How fast is it: the ladder from the drives to the clients, beside what the hardware can do."""
