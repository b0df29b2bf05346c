"""Malformed calls: what can be called, with what it would work, and what goes wrong instead."""
