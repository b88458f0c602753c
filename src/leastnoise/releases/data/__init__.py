"""From a declared source to integers: the table is opened, its rows bounded and counted in its
engine, and nothing but integers comes back.

opening         the table of a plan in its engine: a file, a frame, a database, Spark
schema          names and kinds of columns, to draft a plan from
duckdb_engine   the DuckDB that reads the declared files and nothing else
named_tables    tables and views of a database by their names
spark           tables of Spark
table           a table that is open, and the one way its engine is asked
columns         names and types of columns against what a plan needs of them
expressions     columns as expressions that mean the same on every engine
labels          the labels of keys            calendar   days and times
formulas        the formulas of a plan        lookups    columns of public tables
queries         the aggregates of a plan, after contribution bounding
counts          their integers, and the rehearsal on no rows
scans           which blocks are counted by one scan
scan            a query while it runs, and its end
scratch         a private folder for what an engine writes meanwhile
sealed_scan     a scan in a process that reaches the table and nothing else
closed_process  how a process shuts its own doors

The same plan gives the same integers on DuckDB, Spark and PostgreSQL:

- Numbers are 64-bit floats (text is parsed where it matches one plain pattern, else it is missing);
  clip, divide, add and floor are IEEE operations, so every engine finds the same place. Constants
  travel as text and are parsed there, correctly rounded.
- Rows without a person id belong to nobody and do not count.
- Texts that say who a row belongs to, and to which group, are compared by their bytes, whatever
  collation the column, its type or the connection has. Where equality is coarser than identity, two
  persons share one contribution window: taking one away lets a row of the other in, and an answer
  moves by twice what is declared.
- Sums are of integers, exact in 128 bits or decimals, and come back as text.
- Of a person with too many groups or rows those under declared keys come before those under all
  other keys: what is asked for is the same as if nobody counted the other keys.
- Of a person with too many rows those with the least md5(salt, person, keys, places) are kept. The
  text that is hashed is made of integers and escaped texts only, because engines write floats
  differently; md5 of a UTF-8 text is the one digest that all three have built in. It need not be
  secure: privacy holds for every choice that depends on one person's rows only. Its first 12 digits
  decide, which is what engines keep inside a sort key (10 million rows: 11.9 s of CPU instead of
  14.6), then the keys and places themselves. So rows that tie are equal in everything that is
  counted, and the choice among them changes nothing.

Errors of an engine may quote values: they are replaced by an EngineError without its cause.
"""
