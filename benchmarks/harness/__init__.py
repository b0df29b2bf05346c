"""What the benchmarks share: the registry, clocks, workers, and the linear programs to compare with."""
