"""What is decided before the data are touched."""
