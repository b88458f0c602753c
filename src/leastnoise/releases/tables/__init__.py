"""Tables with margins: what to measure so that what is published is as accurate as possible.

Pure functions of public numbers and noisy answers; no plan, no engine and no law is known here.

columns         sets of columns, their cells, the hidden key "other", residuals
reconstruction  least squares over marginals in closed form: values, variances, covariances
trees           the same for uneven hierarchies, in two passes
hierarchies     the same for a hierarchy crossed with other columns
count_trees     counts of places level by level: which levels, rows below a place, quantiles
exact_sums      numbers whose sums agree to the last digit
intervals       the exact law of an error from characteristic functions
strategy        which marginals to measure: all supports, or by adding, dropping and swapping
residuals       the same for noise on residuals: the best precisions of a Gaussian or a sphere
integers        not below zero and whole, so that sums still agree
"""
