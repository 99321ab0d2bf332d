# Completion of shadowprof for bash. Commands and options are what the program's own help says.

_shadowprof_commands() {
    shadowprof --help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p'
}

_shadowprof_options() {
    shadowprof "$1" --help 2>/dev/null | grep -oE '^ +(-[a-z], ?|    )?--[a-z-]+|^ +-[a-z],--[a-z-]+' |
        grep -oE -- '--[a-z-]+' | sort -u
}

_shadowprof_kinds() {
    shadowprof run --help 2>/dev/null | sed -n 's/.*some of \([a-z,]*\), or all.*/all,\1/p' | tr , ' '
}

# The words that an option takes, where there is a list of them.
_shadowprof_values() {
    case $1 in
        --mode) echo auto shadow live exact ;;
        --engine) echo emulator ;;
        --profiles) _shadowprof_kinds ;;
        --threads) echo all main ;;
        --follow-forks|--task-clock|--translate-ahead) echo yes no ;;
        --weight) echo instructions time ;;
        --format)
            shadowprof "${COMP_WORDS[1]}" --help 2>/dev/null | grep -oE '^ {20,}[a-z-]+ \(' | tr -d ' (' ;;
        --table) shadowprof export --help 2>/dev/null | sed -n 's/.*of csv: //p' | tr -d , ;;
    esac
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
    # Behind the program that is run, its own words come.
    if [[ $command == run || $command == verify ]]; then
        for (( i = 2; i < COMP_CWORD; ++i )); do
            [[ ${COMP_WORDS[i]} == -- ]] || continue
            mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
            (( COMP_CWORD == i + 1 )) || mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        done
    fi
    # "--mode=ex" comes as three words.
    if [[ $word == = ]]; then
        word="" words=$(_shadowprof_values "$before")
    elif [[ $before == = ]]; then
        words=$(_shadowprof_values "${COMP_WORDS[COMP_CWORD-2]}")
    else
        words=$(_shadowprof_values "$before")
    fi
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_shadowprof_options "$command")" -- "$word")
    elif [[ $command == attach && $before != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(command ls /proc | grep -E '^[0-9]+$')" -- "$word")
    else
        compopt -o default 2>/dev/null
        [[ $command == run || $command == verify ]] && mapfile -t COMPREPLY < <(compgen -c -- "$word")
    fi
}

complete -F _shadowprof shadowprof
