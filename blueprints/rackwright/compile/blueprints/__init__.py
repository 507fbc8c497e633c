"""One module per blueprint and cloud: which parts a StackPlan is made of."""
