"""From a spec and the catalog to a SizingPlan. `size.size` is the front door; plan is the contract.

What is asked      demand (the spec in numbers), job, recipe, target, assumptions, known
What there is      candidates (offer, standing, ended), fleet, hardware
The search         search, then train: fastest, layouts, bound, formulas; or serve: replicas; or passes (whole samples), cpu; outcome
What is decided    judge, rank, picks, causes, scaling, pins, keep (does an earlier choice still do)
The rest of a node needs: machine, machine_needs, storage, power
Money of a service economics, serving_economics, service_replica, price_performance
Words              naming
"""
