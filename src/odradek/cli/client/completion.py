"""`odradek completion`: what a shell needs to complete commands, flags, and the names of topics and groups.

The script that a shell loads asks `odradek completion words -- WORD...` at each Tab; the last word is the one that is
being typed. The answer is a word on each line, or `:files` alone where the name of a file belongs.
"""

import argparse

from odradek.cli.client import completion_words

HELP = "what a shell needs to complete commands, topics and groups: bash, zsh, fish"

SHELLS = completion_words.SHELLS
WORDS = "words"

BASH = """\
_odradek() {
    local line="${COMP_LINE:0:COMP_POINT}" words current found
    read -ra words <<< "$line"
    [[ "$line" == *[[:space:]] ]] && words+=("")
    current="${words[${#words[@]}-1]}"
    COMPREPLY=()
    while IFS= read -r found; do
        if [[ "$found" == ":files" ]]; then
            while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -- "$current")
            compopt -o filenames 2> /dev/null || :
            return 0
        fi
        # bash itself breaks words at a colon, and replaces what comes behind it
        [[ "$current" == *:* ]] && found="${found#"${current%:*}:"}"
        COMPREPLY+=("$found")
    done < <("$1" completion words -- "${words[@]:1}" 2> /dev/null)
}
complete -F _odradek odradek
"""
ZSH = """\
#compdef odradek
_odradek() {
    local -a found
    found=("${(@f)$(odradek completion words -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    if [[ "${found[1]}" == ":files" ]]; then
        _files
    else
        compadd -- "${(@)found:#}"
    fi
}
compdef _odradek odradek
"""
FISH = """\
function __odradek_words
    set -l typed (commandline -opc)
    set -l found (odradek completion words -- $typed[2..-1] (commandline -ct) 2> /dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c odradek -f -a '(__odradek_words)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}

EXAMPLES = """\
examples:
  # bash, in ~/.bashrc
  source <(odradek completion bash)
  # zsh, in ~/.zshrc, behind compinit
  source <(odradek completion zsh)
  # fish
  odradek completion fish > ~/.config/fish/completions/odradek.fish
"""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("completion", help=HELP, description=f"{HELP[:1].upper()}{HELP[1:]}.", epilog=EXAMPLES)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", metavar="SHELL", type=_shell, help=", ".join(SHELLS))
    parser.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)
    parser.set_defaults(run=_run)


def _shell(text: str) -> str:
    if text not in (*SHELLS, WORDS):
        raise argparse.ArgumentTypeError(f"there is no {text!r}; there are {', '.join(SHELLS)}")
    return text


def _run(options: argparse.Namespace) -> int:
    if options.shell != WORDS:
        print(SCRIPTS[options.shell], end="")
        return 0
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    for found in completion_words.candidates(words):
        print(found)
    return 0
