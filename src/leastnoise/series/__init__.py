"""Questions asked one after another, on one draw that is kept secret.

opening     open a new series: design, charge, draw; or go on with one
law         the noise of a series, and what it must be like
series      the public class: answer the next question, close it
plans       the statistics of a plan, answered with the next coordinates
kept_draw   the file that keeps the draw: each number is erased before it is used
inode       what tells that file from its copies
slots       how one number stands in that file, plain or encrypted
"""
