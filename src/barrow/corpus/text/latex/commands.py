"""Tables of LaTeX's commands and environments, by what becomes of them in text."""

from __future__ import annotations

HEADINGS = {
    "part": 1, "chapter": 1, "section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4,
    "subparagraph": 5, "head": 1, "heading": 1, "subhead": 2, "subheading": 2, "subsubhead": 3,
    "beginsection": 1, "specialhead": 1,
}  # fmt: skip

# Commands that set their argument in another font, and declarations for the rest of the group.
STYLES = {
    "emph": "*", "textit": "*", "textsl": "*", "textbf": "**", "strong": "**", "texttt": "`",
}  # fmt: skip
DECLARATIONS = {
    "em": "*", "it": "*", "itshape": "*", "sl": "*", "slshape": "*", "bf": "**", "bfseries": "**",
}  # fmt: skip

# Commands dropped with their arguments: * a star, o in brackets, p in parentheses, m in braces.
DROPPED = {
    "label": "m", "vspace": "*m", "hspace": "*m", "vskip": "", "hskip": "", "index": "m",
    "includegraphics": "*oom", "epsfig": "m", "epsfbox": "om", "psfig": "m", "graphicspath": "m",
    "epsffile": "m", "plotone": "m", "plottwo": "mm", "special": "m", "includepdf": "om",
    "documentclass": "om", "documentstyle": "om", "usepackage": "om", "RequirePackage": "om",
    "bibliographystyle": "m", "pagestyle": "m", "thispagestyle": "m", "pagenumbering": "m",
    "setlength": "mm", "addtolength": "mm", "settowidth": "mm", "newlength": "m",
    "setcounter": "mm",
    "addtocounter": "mm", "newcounter": "mo", "stepcounter": "m", "refstepcounter": "m",
    "numberwithin": "omm", "counterwithin": "*mm", "theoremstyle": "m", "hypersetup": "m",
    "author": "om", "date": "m", "thanks": "m", "address": "om", "affil": "om", "affiliation": "om",
    "email": "om", "homepage": "om", "institute": "m", "institution": "m", "inst": "m",
    "curraddr": "m", "urladdr": "m", "authorrunning": "m", "titlerunning": "m", "offprints": "m",
    "pacs": "m", "PACS": "m", "subjclass": "om", "keywords": "m", "keyword": "m", "received": "om",
    "accepted": "om", "revised": "om", "preprint": "m", "altaffiliation": "om", "orcid": "m",
    "dedicatory": "m", "shorttitle": "m", "shortauthors": "m", "shortauthor": "m",
    "journal": "m", "markboth": "mm", "markright": "m", "fnmsep": "", "altaffilmark": "m",
    "altaffiltext": "mm", "affiliations": "m", "corref": "m", "cortext": "om", "fntext": "om",
    "ead": "om", "fnref": "m", "tnotetext": "om", "tnoteref": "m", "icmltitlerunning": "m",
    "addcontentsline": "mmm", "addtocontents": "mm", "phantomsection": "", "tableofcontents": "",
    "listoffigures": "", "listoftables": "", "maketitle": "", "marginpar": "om", "todo": "om",
    "marginnote": "om", "footnotemark": "o", "nocite": "m", "hypertarget": "m", "color": "om",
    "definecolor": "mmm", "colorlet": "mm", "rule": "omm", "raisebox": "moo", "phantom": "m",
    "vphantom": "m", "hphantom": "m", "fontsize": "mm", "selectfont": "", "linespread": "m",
    "baselinestretch": "", "renewbibmacro": "mm", "newsavebox": "m", "sbox": "mm", "savebox": "mm",
    "usebox": "m", "resizebox": "mm", "scalebox": "mo", "rotatebox": "om", "parbox": "ooom",
    "textcolor": "om", "colorbox": "m", "fcolorbox": "mm", "makebox": "oo", "framebox": "oo",
    "multirow": "omom", "cline": "m", "cmidrule": "opm", "specialrule": "mmm", "addlinespace": "o",
    "rowcolor": "om", "arrayrulecolor": "om", "rowcolors": "*ommm",
    "captionof": "m", "makecell": "*o", "shortstack": "o", "thead": "*o",
    "cellcolor": "om", "columncolor": "om", "arraycolsep": "", "hline": "",
    "toprule": "o", "midrule": "o", "bottomrule": "o", "tabularnewline": "", "hdashline": "o",
    "DeclareGraphicsExtensions": "m", "DeclareMathSymbol": "mmmm", "DeclareSymbolFont": "mmmmm",
    "DeclareMathAlphabet": "mmmmm", "SetMathAlphabet": "mmmmmm", "DeclareFontFamily": "mmm",
    "DeclareFontShape": "mmmmmm", "DeclareUnicodeCharacter": "mm", "DeclareOption": "*mm",
    "crefname": "mmm", "Crefname": "mmm", "crefformat": "mm", "Crefformat": "mm", "glsresetall": "",
    "crefrangeformat": "mm", "crefmultiformat": "mmmm", "Crefrangeformat": "mm",
    "Crefmultiformat": "mmmm", "crefrangemultiformat": "mmmm", "Crefrangemultiformat": "mmmm",
    "newaliascnt": "mm", "aliascntresetthe": "m", "AtBeginDocument": "m", "AtEndDocument": "m",
    "captionsetup": "om", "setitemize": "om", "setenumerate": "om", "setlist": "om",
    "lstset": "m", "lstdefinestyle": "mm", "lstdefinelanguage": "omom", "geometry": "m",
    "usetikzlibrary": "m", "tikzset": "m", "tikzstyle": "m", "pgfplotsset": "m", "tikz": "om",
    "hyphenation": "m", "allowdisplaybreaks": "o", "newfont": "mm", "PassOptionsToPackage": "mm",
    "fancyhead": "om", "fancyfoot": "om", "lhead": "m", "rhead": "m", "chead": "m", "lfoot": "m",
    "rfoot": "m", "cfoot": "m", "fancyhf": "m", "vspace*": "m", "enlargethispage": "m",
    "newtheoremstyle": "mmmmmmmmm", "qedsymbol": "", "hangindent": "", "noalign": "m",
    "printbibliography": "o", "addbibresource": "om", "printindex": "", "glossary": "m",
    "caption*": "", "centering": "", "newblock": "", "looseness": "", "pagebreak": "o",
    "linebreak": "o", "nolinebreak": "o", "nopagebreak": "o", "newpage": "", "clearpage": "",
    "cleardoublepage": "", "ding": "m", "put": "p", "multiput": "pp", "line": "pm",
    "vector": "pm", "DeclareCaptionType": "om", "floatname": "mm", "newfloat": "mmm",
    "floatstyle": "m", "restylefloat": "m", "thefootnote": "", "pdfinfo": "m",
    "pdfoutput": "", "columnwidth": "", "textwidth": "", "linewidth": "", "hsize": "",
    "textheight": "", "crefalias": "mm", "acmConference": "ommm", "acmDOI": "m", "acmISBN": "m",
    "acmYear": "m", "copyrightyear": "m", "setcopyright": "m", "ccsdesc": "om", "bstctlcite": "m",
    "IEEEauthorblockN": "m", "IEEEauthorblockA": "m", "icmlaffiliation": "mm", "icmlauthor": "mm",
    "icmlcorrespondingauthor": "mm", "IEEEoverridecommandlockouts": "", "citestyle": "m",
    "setcitestyle": "m", "bibpunct": "ommmmmm", "DeclareSIUnit": "omm", "sisetup": "m",
    "newglossaryentry": "mm", "newacronym": "ommm", "DeclareAcronym": "mm", "glsadd": "om",
}  # fmt: skip

# Environments that are pictures or instructions to a program.
DROPPED_ENVIRONMENTS = frozenset([
    "tikzpicture", "pspicture", "picture", "comment", "filecontents", "filecontents*", "CCSXML",
    "pgfpicture", "forest", "tikzcd", "asy", "feynman", "fmffile", "psfrags", "keywords",
    "keyword", "pspicture*", "sagesilent", "overpic", "dependency", "axis",
    "MSCcodes", "AMS", "IEEEkeywords", "diagram", "lpic",
])  # fmt: skip

CODE_ENVIRONMENTS = frozenset([
    "verbatim", "verbatim*", "Verbatim", "Verbatim*", "BVerbatim", "LVerbatim", "lstlisting",
    "minted", "alltt", "sageblock", "pycode", "Sinput", "Soutput",
])  # fmt: skip

# Environments of mathematics, and what replaces them inside $$.
MATH_ENVIRONMENTS = {
    "equation": "", "equation*": "", "displaymath": "", "dmath": "", "dmath*": "", "math": "",
    "align": "aligned", "align*": "aligned", "flalign": "aligned", "flalign*": "aligned",
    "alignat": "aligned", "alignat*": "aligned", "eqnarray": "aligned", "eqnarray*": "aligned",
    "gather": "gathered", "gather*": "gathered", "multline": "gathered", "multline*": "gathered",
    "xalignat": "aligned", "xxalignat": "aligned", "IEEEeqnarray": "aligned",
    "IEEEeqnarray*": "aligned", "dgroup": "", "darray": "aligned", "numcases": "aligned",
    "subnumcases": "aligned",
}  # fmt: skip

LISTS = {
    "itemize": "-", "enumerate": "1.", "description": "-", "compactitem": "-", "list": "-",
    "compactenum": "1.", "inparaenum": "1.", "inparaitem": "-", "trivlist": "-", "itemize*": "-",
    "enumerate*": "1.", "asparaenum": "1.", "asparaitem": "-", "compactdesc": "-", "roster": "1.",
    "tablenotes": "-", "thebibliography": "-", "labeling": "-", "etaremune": "1.",
}  # fmt: skip

TABLES = {
    "tabular": "om", "tabular*": "mom", "tabularx": "mom", "longtable": "om", "array": "om",
    "tabu": "m", "longtabu": "m", "supertabular": "m", "deluxetable": "m", "deluxetable*": "m",
    "tabulary": "mm", "xltabular": "mom", "mpsupertabular": "m", "NiceTabular": "om", "tblr": "om",
}  # fmt: skip

QUOTES = frozenset(["quote", "quotation", "displayquote", "verse"])

FLOATS = {
    "figure": "Figure", "figure*": "Figure", "table": "Table", "table*": "Table",
    "wrapfigure": "Figure", "wraptable": "Table", "SCfigure": "Figure", "sidewaysfigure": "Figure",
    "sidewaystable": "Table", "sidewaystable*": "Table", "algorithm": "Algorithm",
    "algorithm*": "Algorithm", "longtable": "Table", "floatingfigure": "Figure",
    "subfigure": "Figure", "subtable": "Table", "listing": "Listing", "marginfigure": "Figure",
    "deluxetable": "Table", "deluxetable*": "Table", "sidewaysfigure*": "Figure",
}  # fmt: skip

# Arguments of environments that are not text.
ENVIRONMENT_ARGUMENTS = {
    "minipage": "ooom", "multicols": "mo", "multicols*": "mo", "wrapfigure": "omom",
    "wraptable": "omom", "adjustwidth": "mm", "thebibliography": "m", "list": "mm",
    "subfigure": "oom", "subtable": "oom", "floatingfigure": "m", "spacing": "m", "adjustbox": "m",
    "tcolorbox": "o", "mdframed": "o", "algorithmic": "o", "algorithm": "o",
    "CJK": "mm", "CJK*": "mm",
    "otherlanguage": "m", "otherlanguage*": "m", "labeling": "om", "varwidth": "om", "parbox": "om",
    "threeparttable": "o", "alignat": "m", "alignat*": "m", "xalignat": "m", "xxalignat": "m",
    "IEEEeqnarray": "om", "IEEEeqnarray*": "om", "numcases": "m", "subnumcases": "m",
    "strip": "o", "textblock": "mp", "textblock*": "mp", "resizebox": "mm", "wrapfig": "m",
}  # fmt: skip

THEOREMS = {
    "theorem": "Theorem", "thm": "Theorem", "lemma": "Lemma", "lem": "Lemma",
    "proposition": "Proposition", "prop": "Proposition", "corollary": "Corollary",
    "cor": "Corollary", "definition": "Definition", "defn": "Definition", "remark": "Remark",
    "example": "Example", "claim": "Claim", "conjecture": "Conjecture", "assumption": "Assumption",
    "problem": "Problem", "exercise": "Exercise", "fact": "Fact", "observation": "Observation",
    "acknowledgements": "Acknowledgements", "acknowledgments": "Acknowledgments",
    "acknowledgement": "Acknowledgement", "acknowledgment": "Acknowledgment",
    "ack": "Acknowledgments",
    "axiom": "Axiom", "question": "Question", "note": "Note",
}  # fmt: skip

# Keywords of algorithms, each on its own line.
STEPS = {
    "STATE": "", "State": "", "Statex": "", "STATEx": "", "IF": "if ", "If": "if ", "ELSE": "else",
    "Else": "else", "ELSIF": "else if ", "ElsIf": "else if ", "ENDIF": "end if", "EndIf": "end if",
    "FOR": "for ", "For": "for ", "FORALL": "for all ", "ForAll": "for all ", "ENDFOR": "end for",
    "EndFor": "end for", "WHILE": "while ", "While": "while ", "ENDWHILE": "end while",
    "EndWhile": "end while", "REPEAT": "repeat", "Repeat": "repeat", "UNTIL": "until ",
    "Until": "until ", "REQUIRE": "Require: ", "Require": "Require: ", "ENSURE": "Ensure: ",
    "Ensure": "Ensure: ", "RETURN": "return ", "KwIn": "Input: ", "KwOut": "Output: ",
    "KwData": "Data: ", "KwResult": "Result: ", "LOOP": "loop", "ENDLOOP": "end loop",
    "Procedure": "procedure ", "EndProcedure": "end procedure", "Function": "function ",
    "EndFunction": "end function", "INPUT": "Input: ", "OUTPUT": "Output: ", "Input": "Input: ",
    "Output": "Output: ",
}  # fmt: skip

CITATIONS = frozenset([
    "cite", "citep", "citealp", "citenum", "parencite", "autocite", "footcite", "citealp*",
    "onlinecite", "citeonline", "shortcite", "fullcite", "supercite", "cites",
])  # fmt: skip
TEXT_CITATIONS = frozenset([
    "citet", "citealt", "textcite", "newcite", "citeauthor", "citeA", "Citet", "citeN", "citeyear",
    "citeyearpar", "shortciteN", "cftcite", "Textcite",
])  # fmt: skip
REFERENCES = frozenset([
    "ref", "eqref", "pageref", "cref", "Cref", "autoref", "vref", "nameref", "subref", "fref",
    "labelcref", "thref", "prettyref", "Ref", "Autoref", "cpageref",
])  # fmt: skip

# Commands that an author's definition does not change.
STRUCTURE = frozenset([
    *HEADINGS, *STYLES, *DECLARATIONS, *LISTS, *TABLES, *FLOATS, *MATH_ENVIRONMENTS, *QUOTES,
    "begin", "end", "title", "abstract", "item", "footnote", "caption", "verb", "url", "href",
    "par", "document", "input", "include", "bibliography", "bibitem", "maketitle", "proof",
    "footnotetext", "multicolumn", "text", "mbox", "newtheorem", "ensuremath", "xspace", "left",
    "right", "frac", "sqrt", "mathrm", "mathbf", "appendix", "def", "newcommand", "let", "cr",
    "cite", "citep", "citet", "ref", "eqref", "cref", "Cref", "autoref", "label", "index",
    "includegraphics", "author", "thanks", "documentclass", "usepackage", "hline", "date",
])  # fmt: skip
