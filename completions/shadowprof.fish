# Completion of shadowprof for fish. The program itself lists its commands, options and their words.

function __shadowprof_commands
    shadowprof --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)$' '$1\t$2'
end

# Prints a line for each option of the command line's command: its name, a tab, and the words that
# its value may be, if they can be listed.
function __shadowprof_table
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    contains -- -- $words; and return
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
