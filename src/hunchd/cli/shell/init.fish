# `hunch shell-init fish` wrote this: it tells hunchd which commands ended and how, from git working trees only.
if status is-interactive; and not set -q _hunch_lines
    set -g _hunch_lines @LINES@
    set -g _hunch_daemon @DAEMON@
    set -g _hunch_private @PRIVATE@

    function _hunch_preexec --on-event fish_preexec
        set -g _hunch_folder (pwd -P)
    end

    function _hunch_postexec --on-event fish_postexec
        set -l code $status
        set -l took $CMD_DURATION
        if test -n "$argv[1]" -a -z "$fish_private_mode" -a -e $_hunch_daemon; and not string match -q ' *' -- "$argv[1]"
            _hunch_wanted; and _hunch_tell $code $took $argv[1]
        end
        return $code
    end

    function _hunch_tell
        _hunch_escape "$_hunch_folder"
        set -l project $_hunch_escaped
        _hunch_escape (string sub -l 700 -- $argv[3])
        set -l before $umask
        set -g umask 0077
        printf '{"kind":"command_finished","project":"%s","command":"%s","exit_code":%d,"duration_ms":%d,"source":"shell"}\n' \
            $project $_hunch_escaped $argv[1] $argv[2] >>$_hunch_lines 2>/dev/null
        set -g umask $before
    end

    function _hunch_wanted --description 'Whether what happens in the folder is told'
        test "$_hunch_folder" = "$_hunch_known"; and return 0
        for each in $_hunch_private
            if test "$_hunch_folder" = $each; or test (string sub -l (string length -- $each/) -- $_hunch_folder) = $each/
                return 1
            end
        end
        set -l folder $_hunch_folder
        while test -n "$folder"
            if test -e $folder/.git
                set -g _hunch_known $_hunch_folder
                return 0
            end
            set folder (string replace -r '/[^/]*$' '' -- $folder)
        end
        return 1
    end

    # $_hunch_escaped: the arguments, each a line, as the inside of a JSON string.
    function _hunch_escape
        set -g _hunch_escaped (string replace -ra '(["\\\\])' '\\\\$1' -- $argv)
        if string match -qr '[[:cntrl:]]' -- $_hunch_escaped
            set _hunch_escaped (string replace -a \t '\\t' -- $_hunch_escaped)
            set _hunch_escaped (string replace -ra '[[:cntrl:]]' ' ' -- $_hunch_escaped)
        end
        set _hunch_escaped (string join '\\n' -- $_hunch_escaped)
    end
end
