"""What a recorded decision means for a changed spec, and the age of its versions."""
