"""Model servers: replicas, containers, and what a Neuron server needs."""
