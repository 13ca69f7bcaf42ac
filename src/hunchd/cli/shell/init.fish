# `hunch shell-init fish` wrote this: it tells hunchd which commands ended and how, from git working trees only.
if status is-interactive; and not set -q _hunch_lines
    set -g _hunch_lines @LINES@
    set -g _hunch_daemon @DAEMON@
    set -g _hunch_private @PRIVATE@

    function _hunch_preexec --on-event fish_preexec
        set -g _hunch_folder (pwd -P | string collect)
    end

    function _hunch_postexec --on-event fish_postexec
        set -l code $status
        set -l took $CMD_DURATION
        if test -n "$argv[1]"; and not string match -q ' *' -- "$argv[1]"; and test -z "$fish_private_mode"
            test -e $_hunch_daemon; and _hunch_wanted $_hunch_folder; and _hunch_tell $code $took $argv[1]
        end
        return $code
    end

    function _hunch_tell
        set -l command (_hunch_escape (string sub -l 700 -- $argv[3] | string collect) | string collect)
        set -l project (_hunch_escape $_hunch_folder | string collect)
        set -l before $umask
        set -g umask 0077
        printf '{"kind":"command_finished","project":"%s","command":"%s","exit_code":%d,"duration_ms":%d,"source":"shell"}\n' \
            $project $command $argv[1] $argv[2] >>$_hunch_lines 2>/dev/null
        set -g umask $before
    end

    function _hunch_wanted --description 'Whether what happens in this folder is told'
        set -l folder $argv[1]
        for each in $_hunch_private
            if test $folder = $each; or test (string sub -l (string length -- $each/) -- $folder) = $each/
                return 1
            end
        end
        while test -n "$folder"
            test -e $folder/.git; and return 0
            set folder (string replace -r '/[^/]*$' '' -- $folder | string collect)
        end
        return 1
    end

    function _hunch_escape --description 'The text as the inside of a JSON string'
        set -l lines (string split \n -- $argv[1] | string replace -a '\\' '\\\\' | string replace -a '"' '\\"' | string replace -a \t '\\t')
        string join '\\n' -- (string replace -ar '[[:cntrl:]]' ' ' -- $lines)
    end
end
