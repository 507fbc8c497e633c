"""Pools of machines: capacity, images, network interfaces."""
