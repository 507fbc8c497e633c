"""Rules on pools: capacity, images, fabrics, placement."""
