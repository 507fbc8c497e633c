"""Memory, time and rates of a pinned configuration. `estimate.estimate` is the front door; the search comes in by sizing/formulas.py and
the serving files of sizing.

What is asked     config, read (JSONL), laws and contradictions (what cannot be), engines (defaults of trainers and servers), hardware,
                  launch (flags)
What formulas see case, serving_case, network: plain numbers; resolve makes them of a configuration, model and count of an architecture
Training          step, tpu_step of kernels, wire, rates, flops; finish (the whole run); memory, adapter_memory of states, activations,
                  adapters, parameters
Serving           iteration (one round of a server), decode, first_token, offline, serving_memory
Whole samples     samples (diffusion, vision, encoders)
What is fitted    coefficients (reads data/coefficients.json), models (the list that benchmarks/fit.py fits), predict, band
Measured runs     data/measured, rows, reading/ (printed cells to cases and readings), nearest, calibrate (the user's own)
What is answered  result, answer (a whole file), largest

Of other rooms it imports spec's field types, catalog, problems, errors and files.
"""
