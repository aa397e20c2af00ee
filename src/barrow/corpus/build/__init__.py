"""From raw files to a finished corpus: the stages in their order, one file each.

`stages` lists them with the files that flow between them; `build` runs the list. A stage takes
named files and frozen settings, and writes named files.
"""
