"""Text for people: what characters may stand in it, how numbers are written, and small
tables and drawings as HTML."""
