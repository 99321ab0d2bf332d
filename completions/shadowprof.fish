# Completion of shadowprof for fish. Commands and options are what the program's own help says.

function __shadowprof_commands
    shadowprof --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)$' '$1\t$2'
end

function __shadowprof_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    shadowprof $words[2] --help 2>/dev/null |
        string match -rg '^ +(?:-[a-z], ?)?(--[a-z-]+)'
end

function __shadowprof_kinds
    shadowprof run --help 2>/dev/null |
        string replace -rf '.*some of ([a-z,]*), or all.*' 'all,$1' | string split ,
end

complete -c shadowprof -n __fish_use_subcommand -f -a '(__shadowprof_commands)'
complete -c shadowprof -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__shadowprof_options)'
complete -c shadowprof -n '__fish_seen_subcommand_from run attach' -l mode -x -a 'auto shadow live exact'
complete -c shadowprof -n '__fish_seen_subcommand_from run attach' -l profiles -x \
    -a '(__shadowprof_kinds)'
complete -c shadowprof -n '__fish_seen_subcommand_from run attach' -l threads -x -a 'all main'
complete -c shadowprof -n '__fish_seen_subcommand_from run attach' -l follow-forks -x -a 'yes no'
complete -c shadowprof -n '__fish_seen_subcommand_from run attach' -l task-clock -x -a 'yes no'
complete -c shadowprof -n '__fish_seen_subcommand_from run attach' -l translate-ahead -x -a 'yes no'
complete -c shadowprof -n '__fish_seen_subcommand_from attach' -f -a '(__fish_complete_pids)'
