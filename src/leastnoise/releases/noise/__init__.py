"""What one person can change, and the noise that hides it.

sensitivity   the answers of a plan, and by how much one person moves them, proved case by case
spreads       how one person's rows are spread over the groups of a view, and the one view
tree_levels   how many levels the trees of counts have that quantiles come from
layout        which answers share a draw of noise
search        which of these ways, and which scale, needs the least noise; what Gaussian noise needs
bodies        kinds of noise for a cap on the attacker's advantage
margins       tables with margins, and which of their marginals may be measured
margin_search which of them are measured
view_tables   the one view of persons with several rows as tables with margins
one_view      what one person changes in a bounded view, and which of these changes is the worst
log_concave   the laws for which that is proven, as they are drawn
discovery     the noise that decides which keys are shown where they are not known
mechanism     all of it for a plan: the laws as they are sampled, and the ε they cost
found_keys    the same once the keys are known that were to be discovered
"""
