# Completion of shadowprof for fish. The program itself lists its commands, options and their words.

function __shadowprof_commands
    shadowprof --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)$' '$1\t$2'
end

# Prints the words from the program to run up to the current word, one in a line. The program is the
# first word that is no option and no value, or the one behind "--".
function __shadowprof_program
    set -l current (commandline -ct)
    set -l words (commandline -opc) "$current"
    contains -- "$words[2]" run callgrind verify; or return
    set -l table (shadowprof $words[2] --completion-words 2>/dev/null)
    set -l at 3
    while test $at -lt (count $words)
        switch $words[$at]
            case --
                set at (math $at + 1)
                printf '%s\n' $words[$at..-1]
                return
            case '-*'
                for row in $table
                    set -l fields (string split \t -- $row)
                    contains -- $words[$at] $fields[1] $fields[4]; and test -n "$fields[3]"; or continue
                    set at (math $at + 1)
                    break
                end
            case '*'
                break
        end
        set at (math $at + 1)
    end
    if test $at -eq (count $words)
        string match -q -- '-*' "$current"; and return
    end
    test $at -le (count $words); and printf '%s\n' $words[$at..-1]
end

# Completes the program and its own words as if they stood alone.
function __shadowprof_words_of_program
    set -l words (__shadowprof_program)
    complete -C (string join ' ' -- (string escape -- $words[..-2]) "$words[-1]")
end

# Prints a line for each option of the command line's command, with tabs between its name, the words
# that its value may be, if they can be listed, "list" if it may be several of them or "value" if it
# is one word in other ways, and the option's short name.
function __shadowprof_table
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    test (count (__shadowprof_program)) -ge 2; and return
    shadowprof $words[2] --completion-words 2>/dev/null
end

function __shadowprof_options
    __shadowprof_table | string replace -r '\t.*' ''
end

# Prints the words of the previous option, or of the option in front of "=", then with its name.
function __shadowprof_values
    set -l words (commandline -opc)
    set -l typed (string match -rg '^(--[a-z-]+)=' -- (commandline -ct))
    set -l option $words[-1]
    test -n "$typed"; and set option $typed
    for word in (__shadowprof_table | string match -rg "^$(string escape --style=regex -- $option)\t([^\t]+)" | string split ' ')
        test -n "$typed"; and echo "$typed=$word"; or echo $word
    end
end

complete -c shadowprof -n __fish_use_subcommand -f -a '(__shadowprof_commands)'
complete -c shadowprof -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__shadowprof_options)'
complete -c shadowprof -n 'test -n "$(__shadowprof_values)"' -f -a '(__shadowprof_values)'
complete -c shadowprof -n '__fish_seen_subcommand_from attach' -f -a '(__fish_complete_pids)'
complete -c shadowprof -n 'test -n "$(__shadowprof_program)"' -f -a '(__shadowprof_words_of_program)'
