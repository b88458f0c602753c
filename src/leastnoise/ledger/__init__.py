"""How a budget is kept: what every data set may spend, and every release that spent it.

ledger       the public class: declare a budget, spend; `reader`: its other half, read and check
budget       what is declared: ε, δ, a cap on the advantage, the rule, the orders of its filter
filter       what a sequence of releases costs, and why that is right
advantage    a cap on the attacker's advantage beside ε, and why that is right
accounts     data sets and releases as the events tell them
prices       what one more release would cost, and why it would be refused
event_log    the events: an append-only chain in SQLite
stored_laws  the laws that events name, and losses of other libraries' mechanisms
audit        every number of a file computed again
records      what people give to a ledger, names in one spelling, and what it gives them
listing      a ledger as text, HTML, CSV and JSON
"""
