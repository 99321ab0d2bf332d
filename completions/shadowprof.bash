# Completion of shadowprof for bash. The program itself lists its commands, options and their words.

_shadowprof_commands() {
    shadowprof --help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p'
}

# Prints a line for each option of a command: its name, a tab, and the words that its value may be,
# if they can be listed; behind another tab "list" if it may be several of them.
_shadowprof_table() {
    shadowprof "$1" --completion-words 2>/dev/null
}

_shadowprof_values() {
    local option words _
    while IFS=$'\t' read -r option words _; do
        [[ $option == "$2" ]] && printf '%s\n' "$words"
    done < <(_shadowprof_table "$1")
}

_shadowprof() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} words="" i
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        mapfile -t COMPREPLY < <(compgen -W "$(_shadowprof_commands) --version --help" -- "$word")
        return
    fi
    if [[ $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_shadowprof_commands)" -- "$word")
        return
    fi
    # Behind the program to run, complete its own words.
    if [[ $command == @(run|callgrind|verify) ]]; then
        for (( i = 2; i < COMP_CWORD; ++i )); do
            [[ ${COMP_WORDS[i]} == -- ]] || continue
            mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
            (( COMP_CWORD == i + 1 )) || mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        done
    fi
    # Bash splits "--mode=ex" into three words.
    if [[ $word == = ]]; then
        word="" words=$(_shadowprof_values "$command" "$before")
    elif [[ $before == = ]]; then
        words=$(_shadowprof_values "$command" "${COMP_WORDS[COMP_CWORD-2]}")
    else
        words=$(_shadowprof_values "$command" "$before")
    fi
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_shadowprof_table "$command" | cut -f 1)" -- "$word")
    elif [[ $command == attach && $before != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(command ls /proc | grep -E '^[0-9]+$')" -- "$word")
    else
        compopt -o default 2>/dev/null
        [[ $command == @(run|callgrind|verify) ]] && mapfile -t COMPREPLY < <(compgen -c -- "$word")
    fi
}

complete -F _shadowprof shadowprof
