"""What the public is told, from nothing but the plan and the published numbers.

guarantee   what is guaranteed, what was bounded, which law and what it gains
cautions    what to know before reading
registry    the record of deployments
html        the page for the public, and the view of a notebook
"""
