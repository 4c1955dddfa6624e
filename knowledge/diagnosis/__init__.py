"""Rules that find the faults of a machine and its environments: one file per subject, each a pure function of facts."""
