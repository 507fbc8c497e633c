"""Rules on the workloads of a spec: model, data, objective, jobs, serving options, measured runs."""
