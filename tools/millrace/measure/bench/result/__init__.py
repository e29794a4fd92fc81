# SPDX-License-Identifier: Apache-2.0
"""The contract of a run, what fio reported as figures, and where results are kept. Imports no other room of bench."""
