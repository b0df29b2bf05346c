"""Random models that should give no solver any trouble, and references for their optima."""
