"""The measured runs that ship with the estimator."""
