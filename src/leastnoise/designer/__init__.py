"""The maker of noise: convex programs over radial laws and their certificates."""
