"""The studio: a local page that shows live what a privacy budget buys, what a guarantee means to an
attacker, and what a plan will give, over the same functions as the command line.

    setting          what the page asks for, checked field by field
    tasks            what worker processes compute, as plain JSON data
    known_laws       laws that are found in a moment
    kept             one kept draw, for answers asked one by one
    picture_numbers  the numbers of the pictures, those of one law beside those of others
    privacy_curve    a line that is drawn nowhere below the truth
    game             the attacker's: two laws to tell apart, and how well anybody can
    planning         what a plan will give; `plan_form`: the plan as the page's form
    sentences        what a guarantee means, in words
    snippets         the same request as code, command and plan
    workers          a bounded pool of processes with a time limit
    service          one method a question; equal questions are computed once
    guard            hosts, origins, sizes, security headers
    connections      times and numbers of connections
    app              the routes
    static/          the page

No mathematics here. The page designs and plans; it never sees data and releases nothing.
"""
