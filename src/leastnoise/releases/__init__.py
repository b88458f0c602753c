"""Releases on real tables, and the ledger that keeps their budget."""
