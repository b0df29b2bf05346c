"""Measurements, one file each: `python -m benchmarks` lists them, `python -m benchmarks NAME` runs one.

A benchmark is a module of this package with one function under `@benchmark(...)`; the tools that they share are in
`harness/`.
"""
