"""From noisy answers to statistics with their errors.

estimate        the rows of a release                  row       one released number
ratios          means and variances                    trials    the size of the noise, drawn again
quantiles       places among the noisy counts of a tree, with intervals in values
checks          what the checks are called             shares    how many a check may be about
postprocessing  not below zero, whole, adding up       totals    counts that add up
adding_up       counts whose groupings are measured by themselves, moved so that they add up
linear          the noise of a linear form in entries and numbers of tables
joint_forms     the exact law of a form in two answers of one draw
reconstructed   numbers that are put together from the measured marginals of a table
combination     sums and differences of released numbers
"""
