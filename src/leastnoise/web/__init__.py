"""The explorer: a local page that shows live what a privacy budget buys, over the same functions as the command line.

    setting   what the page asks for, checked field by field             words     sentences, code, command, plan
    work      what worker processes compute, as plain JSON data          workers   a bounded pool of processes with a time limit
    service   cache, sharing of equal requests, one method a question    guard     hosts, origins, sizes, security headers
    app       the routes                                                  static/   the page

No mathematics here. The page designs; it never sees data and releases nothing.
"""
