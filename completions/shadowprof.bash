# Completion of shadowprof for bash. The program itself lists its commands, options and their words.

_shadowprof_commands() {
    shadowprof --help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p'
}

# Prints a line for each option of a command, with tabs between its name, the words that its value
# may be, if they can be listed, "list" if it may be several of them or "value" if it is one word in
# other ways, and the option's short name.
_shadowprof_table() {
    shadowprof "$1" --completion-words 2>/dev/null
}

# Prints a column of the row that the command's table has for an option.
_shadowprof_column() {
    _shadowprof_table "$1" | OPTION=$2 COLUMN=$3 awk -F '\t' \
        '$1 == ENVIRON["OPTION"] || $4 == ENVIRON["OPTION"] { print $ENVIRON["COLUMN"]; exit }'
}

# Prints the index of the word that is the program to run, up to the current word.
_shadowprof_program() {
    local i
    for (( i = 2; i < COMP_CWORD; ++i )); do
        case ${COMP_WORDS[i]} in
            --)
                echo $(( i + 1 ))
                return ;;
            -*)
                # Bash splits "--mode=exact" into three words.
                if [[ ${COMP_WORDS[i+1]-} == = ]]; then
                    (( i += 2 ))
                elif [[ $(_shadowprof_column "$1" "${COMP_WORDS[i]}" 3) ]]; then
                    (( ++i ))
                fi ;;
            *)
                echo "$i"
                return ;;
        esac
    done
    [[ $i == "$COMP_CWORD" && ${COMP_WORDS[i]} != -* ]] && echo "$i"
}

# Completes a program's own words as bash-completion does, where it is loaded.
_shadowprof_words_of_program() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    else
        compopt -o default 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
    fi
}

# Completes the value of an option: one of the words, or several with commas between them.
_shadowprof_value() {
    local words=$1 kind=$2 word=$3 begin=""
    [[ $kind == list && $word == *,* ]] && begin=${word%,*},
    mapfile -t COMPREPLY < <(compgen -P "$begin" -W "$words" -- "${word#"$begin"}")
}

_shadowprof() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} option words program=""
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        mapfile -t COMPREPLY < <(compgen -W "$(_shadowprof_commands) --version --help" -- "$word")
        return
    fi
    if [[ $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_shadowprof_commands)" -- "$word")
        return
    fi
    [[ $command == @(run|callgrind|verify) ]] && program=$(_shadowprof_program "$command")
    if [[ $program ]] && (( program < COMP_CWORD )); then
        _shadowprof_words_of_program "$program"
        return
    fi
    option=$before
    [[ $before == = ]] && option=${COMP_WORDS[COMP_CWORD-2]}
    [[ $word == = ]] && word=""
    words=$(_shadowprof_column "$command" "$option" 2)
    if [[ $words ]]; then
        _shadowprof_value "$words" "$(_shadowprof_column "$command" "$option" 3)" "$word"
    elif [[ $word == -* && ! $program ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_shadowprof_table "$command" | cut -f 1)" -- "$word")
    elif [[ $command == attach && $before != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(command ls /proc | grep -E '^[0-9]+$')" -- "$word")
    else
        compopt -o default 2>/dev/null
        [[ $program ]] && mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
    fi
}

complete -F _shadowprof shadowprof
