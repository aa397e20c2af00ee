"""The programming language of a file, by its name or its first line."""

from __future__ import annotations

_EXTENSIONS = """
Ada: adb ads
Assembly: asm s
Awk: awk
Batchfile: bat cmd
C: c h
C#: cs csx
C++: cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp
CMake: cmake
COBOL: cbl cob
CSS: css
CUDA: cu cuh
Clojure: clj cljc cljs edn
CoffeeScript: coffee
Common Lisp: lisp lsp cl asd
Crystal: cr
Cython: pyx pxd pxi
D: d
Dart: dart
Dockerfile: dockerfile
Elixir: ex exs
Elm: elm
Emacs Lisp: el
Erlang: erl hrl
F#: fs fsi fsx
Fortran: f f77 f90 f95 f03 f08 for
GLSL: glsl vert frag geom comp
Go: go
GraphQL: graphql gql
Groovy: groovy gradle
HCL: hcl tf tfvars
HTML: html htm xhtml
Haskell: hs lhs
Haxe: hx
INI: ini cfg conf properties
JSON: json json5 jsonc geojson webmanifest
Java: java
JavaScript: js jsx mjs cjs
Julia: jl
Jupyter Notebook: ipynb
Kotlin: kt kts
LLVM: ll
Less: less
Lua: lua
Makefile: mk mak make
Markdown: md markdown mkd mdx
MATLAB: m
Meson: meson
Nim: nim nims
Nix: nix
OCaml: ml mli mll mly
Objective-C++: mm
PHP: php phtml php3 php4 php5 phpt
Pascal: pas pp lpr dpr
Perl: pl pm t pod
PowerShell: ps1 psm1 psd1
Prolog: pro
Protocol Buffer: proto
PureScript: purs
Python: py pyi pyw
QML: qml
R: r rmd
Racket: rkt
Ruby: rb rake gemspec ru
Rust: rs
SCSS: scss
SQL: sql
SVG: svg
Sass: sass
Scala: scala sbt sc
Scheme: scm ss sld
Shell: sh bash zsh ksh
Smalltalk: st
Solidity: sol
Standard ML: sml sig
Starlark: bzl star
Stylus: styl
Svelte: svelte
Swift: swift
SystemVerilog: sv svh
TOML: toml
Tcl: tcl
TeX: tex sty cls ltx bib
Text: txt
TypeScript: ts tsx mts cts
VHDL: vhd vhdl
Verilog: v vh
Vim Script: vim
Visual Basic .NET: vb
Vue: vue
WebAssembly: wat wast
XML: xml xsd xsl xslt xaml plist csproj vcxproj
YAML: yaml yml
Zig: zig
fish: fish
reStructuredText: rst
"""

_NAMES = """
CMake: CMakeLists.txt
Dockerfile: Dockerfile Containerfile
Groovy: Jenkinsfile
Makefile: Makefile GNUmakefile makefile Kbuild
Meson: meson.build
Ruby: Rakefile Gemfile Vagrantfile Podfile Guardfile Brewfile
Shell: .bashrc .bash_profile .profile .zshrc PKGBUILD APKBUILD
Starlark: BUILD BUILD.bazel WORKSPACE
Vim Script: .vimrc
"""

_INTERPRETERS = """
Awk: awk gawk mawk
JavaScript: node nodejs deno bun
Lua: lua luajit
OCaml: ocaml
PHP: php
Perl: perl
Python: python pypy
R: Rscript
Ruby: ruby jruby
Shell: sh bash dash zsh ksh ash
Tcl: tclsh wish expect
fish: fish
"""


def _table(lines: str) -> dict[str, str]:
    rows = [line.split(": ") for line in lines.strip().splitlines()]
    return {word: language for language, words in rows for word in words.split()}


_BY_EXTENSION = _table(_EXTENSIONS)
_BY_NAME = _table(_NAMES)
_BY_INTERPRETER = _table(_INTERPRETERS)


def programming_language(name: str, text: str) -> str | None:
    """A language as GitHub names it: by the file's name, its ending, its interpreter; else None."""
    name = name.rsplit("/", 1)[-1]
    stem, dot, extension = name.rpartition(".")
    if name in _BY_NAME:
        return _BY_NAME[name]
    if dot and (stem or extension == "dockerfile") and extension.lower() in _BY_EXTENSION:
        return _BY_EXTENSION[extension.lower()]
    return _by_interpreter(text)


def _by_interpreter(text: str) -> str | None:
    if not text.startswith("#!"):
        return None
    words = text[2:200].split("\n", 1)[0].split()
    while words and (words[0].rsplit("/", 1)[-1] == "env" or words[0].startswith("-")):
        words.pop(0)
    if not words:
        return None
    program = words[0].rsplit("/", 1)[-1]
    return _BY_INTERPRETER.get(program) or _BY_INTERPRETER.get(program.rstrip("0123456789."))
