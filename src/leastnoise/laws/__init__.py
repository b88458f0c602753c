"""What a law of noise is, one file a law, and the classical laws by name.

Importing any of them registers all, so that a file can be read whatever law it holds.
"""

from leastnoise.laws import registry as registry
