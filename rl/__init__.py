"""Semi-infinitely constrained Markov decision processes: planning and learning on top of lsip."""
