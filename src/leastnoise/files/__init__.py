"""How files are written and read back, whatever they hold: nothing here knows a law.

canonical    plain data as JSON with one spelling, and its SHA-256
infinity     JSON has no infinity: the text "inf", or null
sealed       JSON files that name their format and version and carry the SHA-256 of their content
reading      files and numbers from others: none larger than what they should be
writing      whole or not at all
locking      a file that one process at a time may change
spreadsheet  tables as CSV whose cells no spreadsheet runs as formulas
schemas/     the JSON formats as JSON Schemas
"""
