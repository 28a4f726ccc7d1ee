# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts this folder on the path of all unit tests, for ``fake_host``."""
