# SPDX-License-Identifier: Apache-2.0
"""Long work as people see it: which jobs run or wait, how far they are, how the last ones ended; follow and cancel"""
