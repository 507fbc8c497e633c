"""Memory, time and rates of one pinned configuration. Entry point: `estimate.estimate`.

config/       configuration models, constraints, engine defaults, accelerators, and their conversion to cases
case.py       inputs of the training formulas as plain numbers; serving/case.py those of serving
model/        dimensions, parameter counts and FLOPs of an architecture
training/     step time, whole-run time and memory
serving/      latency, throughput and memory
samples.py    diffusion, vision and encoder models
calibration/  fitted coefficients, and corrections from the user's measured runs
dataset/      published runs in data/measured, converted to cases
predict.py    formulas with coefficients for one case; result.py the result types

Formulas take numbers or arrays and depend on neither the catalog nor the spec.
"""
