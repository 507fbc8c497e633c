"""Sizing: from a spec and a catalog to a SizingPlan.

size               the entry point
plan               the SizingPlan; rejection: why a candidate does not fit; metrics: the numbers of a candidate
workload_inputs    the workload of the spec as numbers: job, training_recipe; assumptions behind them
offers/            machines of the catalog by place and capacity mode, and whether the spec allows them
search/            parallel layout, batch and replica count for each machine
evaluation/        candidates against goals and limits
selection/         ranking, Pareto frontier, rejection summary, revalidation of an earlier choice
node/              requirements of a node beside its accelerators: memory, CPUs, disks, network, power
economics/         cost and revenue of a service
"""
