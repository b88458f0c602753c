"""What one person can change, and the noise that hides it.

sensitivity   the answers of a plan, and by how much one person moves them, proved case by case
layout        which answers share a draw of noise
search        which of these ways, and which scale, needs the least noise; what Gaussian noise needs
bodies        kinds of noise for a cap on the attacker's advantage
margins       tables with margins, and which of their marginals may be measured
margin_search which of them are measured
one_view      one bounded view for persons with several rows, and the change that is the worst
mechanism     all of it for a plan: the laws as they are sampled, and the ε they cost
"""
