# SPDX-License-Identifier: Apache-2.0
"""Long work: its order, its unit, how far it is, how it is followed and cancelled, its record, what runs beside it."""
