"""Text and files of unknown origin: safe output, and bounded input.

`terminal` and `rich_console` print text without its control characters; `bounded_file` reads a file up to a limit and
refuses pipes and devices; `counted_nouns` writes a count with its noun. Imports `errors` and the native module. Every
print of the package goes through this folder.
"""
