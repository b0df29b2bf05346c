"""How the documentation site is built: `python -m sphinx -W --keep-going -b html docs docs/_build/html`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE), str(HERE.parent)]

from sphinx.util.inspect import TypeAliasForwardRef  # noqa: E402

import lsip  # noqa: E402

project = "lsip"
author = "The lsip authors"
project_copyright = author
version = release = lsip.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "catalogue_tables",
    "command_help",
    "gallery_cards",
    "house_map",
    "learning_methods",
    "mathml",
    "plain_docstrings",
    "public_names",
    "published_models",
    "steering_numbers",
    "tutorials",
]
exclude_patterns = ["_build", "_ext"]
suppress_warnings = [
    "mystnb.unknown_mime_type",
    "ref.python",  # of the two classes called Rule, that of learners is the one in signatures, and the first
]

# Pages
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # stored outputs are shown; tests execute every notebook
nb_merge_streams = True

# Reference
default_role = "code"  # docstrings write `x` for code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
_ALIASES = ("Array", "ArrayLike", "Data", "Matrix", "Table", "Pairs", "Chosen", "Values", "Statements", "Given")
autodoc_type_aliases = {name: name for name in _ALIASES}  # docstrings say what they are
TypeAliasForwardRef.__repr__ = lambda self: self.name  # type: ignore[method-assign]  # in unions it prints its repr
autodoc_inherit_docstrings = False  # what other packages say about their own methods is in their documentation
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False  # types are in the signature
toc_object_entries_show_parents = "hide"

# Types of what people give; docstrings say what that can be
autodoc_type_aliases |= {n: n for n in ("Transitions", "Matrix", "PolicyLike", "Cost", "Seed", "AnyEnv")}

# Every link within the site must lead somewhere; names of other packages, and of private helpers, are plain text.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!(lsip|rl|envs)\.).*"), ("py:.*", r"(lsip|rl|envs)\..*\.[A-Z]\w+")]

# Look
html_theme = "furo"
html_title = f"lsip {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("copy.js", {"defer": "defer"})]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # summaries are fetched, which a page that was opened from a file may not do
html_theme_options = {"navigation_with_keys": True}
