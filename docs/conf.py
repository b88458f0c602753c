"""The documentation: `sphinx-build -W --keep-going -b html docs out/docs`. It builds without a
network and shows without one."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "leastnoise"
author = "The leastnoise authors"
copyright = author
release = version = metadata.version("leastnoise")

extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml", "click_help", "plain_docstrings"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["extensions"]

html_theme = "furo"
html_title = "leastnoise"
html_static_path = ["_static"]
html_css_files = ["leastnoise.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
pygments_style = "friendly"
smartquotes = False

# Names that say more than what they stand for.
autodoc_type_aliases = {
    name: name
    for name in (
        "ArrayLike",
        "Floats",
        "Domain",
        "Objective",
        "Entropy",
        "Progress",
        "Source",
        "Settings",
    )
}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False
