"""Random models with a known truth, and a judge in ball arithmetic and fractions that shares no code with lsip."""
