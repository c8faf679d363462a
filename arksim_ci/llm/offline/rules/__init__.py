"""The judge's rules: each a pure function of one turn that finds a failure or nothing, or gives a score."""
