"""Everything that touches the machine, behind one door: `probes.host.Host`."""
