"""What is decided before the data are touched.

source     where a table lies
keys       the declared keys of a grouping, and which row has which
statistic  what is asked for, and the lattice that a column of numbers is put on
formula    conditions and arithmetic over the columns of one row
reading    what a column holds, and how days are written
lookup     public tables with one row a key, whose columns rows get
plan       all of it together, checked
file       the same as a TOML file
draft      a first plan, written as such a file
"""
