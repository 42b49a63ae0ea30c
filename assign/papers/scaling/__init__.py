"""Parts shared by the cost-scaling methods: the network, discharging, the two heuristics, and exact final prices."""
