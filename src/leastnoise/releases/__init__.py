"""Releases on real tables: from a plan to published numbers.

plan/        what is declared before the data are touched: plan, statistics, keys, source, TOML file
data/        the table in its engine: opened, bounded, counted; nothing but integers comes back
tables/      tables with margins: what to measure, and how what is published is put together again
noise/       what one person can change, and the least noise that hides it
estimates/   from noisy answers to statistics with their errors, and the checks
report/      what the public is told
record       a release as data; `result`: `Release`, the same with its tables, files and report
explanation  a plan in sentences, and the mistakes that plans often have
preview      the errors of a plan before any row is read; `advice`: what a ledger would allow
rehearsal    a release on invented rows, before anything is spent
release      the order in which all this is done, so that nothing can leak
"""
