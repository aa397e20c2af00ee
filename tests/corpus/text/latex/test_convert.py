"""Markdown of every kind of LaTeX (PILE-6)."""

from __future__ import annotations

import pytest

from barrow.corpus.text.latex.convert import convert
from barrow.corpus.text.latex.definitions import TooMuchExpansion
from barrow.corpus.text.latex.project import Project

BEGIN = "\\documentclass{article}"


def markdown(body: str, preamble: str = "", *, keep_bibliography: bool = False) -> str:
    """The markdown of a document's body, after a preamble."""
    text = f"{BEGIN}{preamble}\\begin{{document}}{body}\\end{{document}}"
    project = Project({"main.tex": text.encode()})
    return convert(project, "main.tex", keep_bibliography=keep_bibliography).text


BODIES = [
    # Text
    ("a\nb\n\n\n\nc", "a b\n\nc"),
    (r"\emph{a} \textbf{b} {\it c} {\bf d} \texttt{e}", "*a* **b** *c* **d** `e`"),
    (r"\emph{a }b \emph{}c", "*a* b c"),
    (r"caf\'e \"{o} \ss\ \o{} \c{c} \v s \^\i na\"{\i}ve", "café ö ß ø ç š înaïve"),
    (r"``a'' -- b---c `d' e~f 5\% \$ \& \# \_ \{ \}", "\"a\" – b—c 'd' e f 5% $ & # _ { }"),
    (r"\LaTeX{} \ldots\ \S 3 \copyright", "LaTeX … §3 ©"),
    (r"\unknown[x]{kept} text \other", "kept text"),
    (r"\begin{strange}kept\end{strange}", "kept"),
    (r"a\\b\\[2pt]c", "a\nb\nc"),
    (r"a\vspace{1cm}b\label{x}\index{y}c", "abc"),
    (r"\verb|a_b%| c", "`a_b%` c"),
    ("\\begin{verbatim}\n  x %\n\n\n  y\n\\end{verbatim}", "```\n  x %\n\n\n  y\n```"),
    (r"{unclosed \emph{x", "unclosed *x*"),
    (r"a } b", "a b"),
    (r"{a \bf b} c", "a **b** c"),
    ("\\emph{a\n\nb}", "a\n\nb"),
    (r"\texttt{a $x$}", "a $x$"),
    # Commands
    (r"\section{A \emph{b}}c\subsection*{D}", "# A *b*\n\nc\n\n## D"),
    (r"a\footnote{note} b\footnote{more}", "a[^1] b[^2]\n\n[^1]: note\n\n[^2]: more"),
    (r"\cite{a,b} \citep[see][p.~3]{c} \citet{d}", "[@a; @b] [see @c, p. 3] @d"),
    (r"\ref{a} \eqref{b} \cref{c,d}", "[a] [b] [c], [d]"),
    (r"\url{http://x/a_b} \href{http://y}{text}", "http://x/a_b [text](http://y)"),
    (r"\begin{figure}\includegraphics[w]{f}\caption{C}\end{figure}", "Figure: C"),
    (r"\section{\texorpdfstring{$x$}{x}}", "# $x$"),
    (r"\proclaim{Theorem 1.} text\endproclaim", "**Theorem 1.** text"),
    (r"\abstract{A text.}", "# Abstract\n\nA text."),
    # Environments
    (r"\begin{itemize}\item a\item b\end{itemize}", "- a\n- b"),
    (r"\begin{enumerate}\item a\begin{itemize}\item b\end{itemize}\item c\end{enumerate}",
     "1. a\n\n   - b\n\n2. c"),
    (r"\begin{description}\item[T] x\end{description}", "- **T** x"),
    (r"\begin{tabular}{ll}\hline a & b\\ \multicolumn{2}{c}{x} \\ \end{tabular}",
     "| a | b |\n|---|---|\n| x |  |"),
    (r"\begin{tabular}{ll}\makecell{a\\b} & c\\ d & e\end{tabular}",
     "| a b | c |\n|---|---|\n| d | e |"),
    (r"\begin{theorem}[Name] x\end{theorem}\begin{proof}y\end{proof}",
     "**Theorem** (Name). x\n\n*Proof.* y ◻"),
    (r"\begin{quote}a\end{quote}", "> a"),
    (r"a\begin{tikzpicture}\draw x;\end{tikzpicture}b", "ab"),
    ("a\\begin{comment}\nno\n\\end{comment}b", "ab"),
    (r"\begin{abstract}a\end{abstract}", "# Abstract\n\na"),
    (r"\begin{algorithmic}\STATE a\IF{b}\STATE c\ENDIF\end{algorithmic}",
     "a\nif b\nc\nend if"),
    ("\\begin{lstlisting}[caption={T}]\nx\n\\end{lstlisting}", "T\n\n```\nx\n```"),
    (r"\end{nothing}a", "a"),
    # Formulas
    ("a $x^2$ b", "a $x^2$ b"),
    (r"a \(x\) b", "a $x$ b"),
    ("a $$x$$ b", "a\n$$x$$\nb"),
    (r"a \[ x \] b", "a\n$$x$$\nb"),
    (r"\begin{align*} a &= b \\ c &= d \end{align*}",
     "$$\\begin{aligned}\na &= b \\\\ c &= d\n\\end{aligned}$$"),
    (r"\begin{equation}\label{e}x\end{equation}", r"$$\label{e}x$$"),
    (r"$a \text{ if $b$}$", r"$a \text{ if $b$}$"),
    ("$a\n\nb", "a\n\nb"),
    (r"$a \textcolor{red}{b}$", "$a {b}$"),
    (r"$$a \section{T} text", "$$a$$\n\n# T\n\ntext"),
    (r"\begin{narrowmultline} a \end{narrowmultline}",
     "$$\\begin{gathered}\na\n\\end{gathered}$$"),
    # Conditionals
    (r"a \iffalse b \iftrue c \fi \else d \fi e", "a d e"),
    (r"a \iftrue b \else c \fi d", "a b d"),
    (r"\ifpdf a \else b \fi", "b"),
    (r"\def\a{x}\def\b{x}\ifx\a\b y\else n\fi", "y"),
    (r"\ifx\a\undefined y\else n\fi", "y"),
    (r"\if xy n\else y\fi", "y"),
    (r"\def\e#1{\if\relax\detokenize{#1}\relax empty\else #1\fi}\e{} \e{z}", "empty z"),
    (r"\def\m{\ifmmode m\else t\fi}\m{} $\m$", "t $m$"),
    (r"$a \iff b$ c", r"$a \iff b$ c"),
    (r"\iffalse never closed", ""),
    # What is read next
    (r"\makeatletter\def\a{\@ifnextchar[{yes}{no}}\a[ \a x", "yes[ nox"),
    (r"\makeatletter\def\a{\@ifstar{s}{n}}\a* \a x", "s nx"),
    (r"\def\foo{x}\csname foo\endcsname", "x"),
    (r"\ifdef{\foo}{a}{b}", "b"),
    (r"\ifthenelse{\equal{a}{b}}{x}{y}", "y"),
    (r"$\mathchoice{a}{b}{c}{d}$", "$b$"),
    (r"\ifstrempty{}{a}{b}", "a"),
    (r"{\bgroup a\egroup} b", "a b"),
    (r"a\endinput b", "a"),
    (r"\input{gone} a", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_bodies(body: str, expected: str) -> None:
    assert markdown(body) == expected


PREAMBLES = [
    (r"\newcommand{\R}{\mathbb{R}}", r"$\R^n$", r"$\mathbb{R}^n$"),
    (r"\newcommand\a[2]{#2-#1}", r"\a{x}{y} \a xy", "y-x y-x"),
    (r"\newcommand{\a}[2][o]{#1#2}", r"\a{x} \a[p]{x}", "ox px"),
    (r"\def\a#1:#2;{<#2|#1>}", r"\a x:y; z", "<y|x> z"),
    (r"\DeclareMathOperator{\rank}{rank}", r"$\rank A$", r"$\operatorname{rank}A$"),
    (r"\DeclareMathOperator*{\am}{arg\,min}", r"$\am$", r"$\operatorname*{arg\,min}$"),
    (r"\let\b\beta \renewcommand{\beta}{\b'}", r"$\beta$", r"$\beta '$"),
    (r"\newcommand{\a}{\alpha}", r"$\a x$", r"$\alpha x$"),
    (r"\newcommand{\a}{one}\providecommand{\a}{two}", r"\a", "one"),
    (r"\newcommand{\a}{one}\renewcommand{\a}{two}", r"\a", "two"),
    (r"\newenvironment{e}[1]{(#1:}{)}", r"\begin{e}{t}x\end{e}", "(t:x)"),
    (r"\def\be{\begin{equation}}\def\ee{\end{equation}}", r"\be x \ee", "$$x$$"),
    (r"\newif\ifa \atrue", r"\ifa x\else y\fi", "x"),
    (r"\newif\ifa", r"\ifa x\else y\fi", "y"),
    (r"\DeclarePairedDelimiter{\abs}{|}{|}", r"$\abs{x}$", "$| x|$"),
    (r"\newcommand{\N}{\ensuremath{\mathbb{N}}\xspace}", r"\N is, $\N$",
     r"$\mathbb{N}$ is, ${\mathbb{N}}$"),
    (r"\renewcommand{\section}{x}", r"\section{T}", "# T"),
    (r"\edef\a{\a x}\edef\b{y}", r"\b", "y"),
    (r"\NewDocumentCommand{\a}{mm}{#2#1}", r"\a{x}{y}", "yx"),
    (r"\newtheorem{satz}{Satz}[section]", r"\begin{satz}x\end{satz}", "**Satz**. x"),
    (r"\title{A\thanks{x} \\ title}\author{B}\date{}", r"\maketitle text", "# A title\n\ntext"),
]  # fmt: skip


@pytest.mark.parametrize(("preamble", "body", "expected"), PREAMBLES)
def test_preambles(preamble: str, body: str, expected: str) -> None:
    assert markdown(body, preamble) == expected


def test_bibliography() -> None:
    body = r"a\begin{thebibliography}{9}\bibitem{k} Someone, 1999.\end{thebibliography}"
    assert markdown(body) == "a"
    kept = markdown(body, keep_bibliography=True)
    assert kept == "a\n\n# References\n\n- [@k] Someone, 1999."


@pytest.mark.parametrize("opening", ["{", r"\emph{", r"\footnote{", r"\section{", r"\begin{quote}",
                                     r"\begin{tabular}{c}", r"\begin{itemize}\item ",
                                     "$", r"\href{a}{"])  # fmt: skip
def test_deep_nesting(opening: str) -> None:
    markdown(opening * 20_000)


DOUBLING = "".join(f"\\def\\a{chr(97 + k)}{{\\a{chr(98 + k)}\\a{chr(98 + k)}}}" for k in range(24))


@pytest.mark.parametrize(
    "body",
    [
        r"\def\a{\a}\a",
        r"\def\a{x\a x}\a",
        r"\newcommand{\a}{\b}\newcommand{\b}{\a}$\a$",
        r"\input{main}",
        DOUBLING + r"\aa",
        r"\newcommand{\a}[1]{#1}" + r"\a{" * 50_000 + "}" * 50_000,
    ],
)
def test_bombs(body: str) -> None:
    with pytest.raises(TooMuchExpansion):
        markdown(body)


def test_files_and_packages() -> None:
    files = {
        "main.tex": b"\\documentclass{a}\\usepackage{mine}\\input{m}\\begin{document}"
        b"\\x \\y{} \\include{s}\\import{d/}{t}\\end{document}not this",
        "mine.sty": b"\\newcommand{\\x}{X}\\def\\section{no}\\def\\z{\\@no}",
        "m.tex": b"\\newcommand{\\y}{Y}",
        "s.tex": b"S % comment",
        "d/t.tex": b"\\section{T}",
    }
    found = convert(Project(files), "main.tex", keep_bibliography=False)
    assert found.text == "XY S\n\n# T"
    assert found.title == ""
