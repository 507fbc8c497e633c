"""Coefficients fitted to measured runs, their intervals, and calibration on the user's own runs."""
