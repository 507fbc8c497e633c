"""Alerts with their receivers, dashboards, and the cost per team."""
