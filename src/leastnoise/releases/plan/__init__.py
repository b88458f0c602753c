"""What is decided before the data are touched.

source     where a table lies
keys       the declared keys of a grouping, and which row has which
statistic  what is asked for, and the lattice that a column of numbers is put on
plan       all of it together, checked
file       the same as a TOML file
"""
