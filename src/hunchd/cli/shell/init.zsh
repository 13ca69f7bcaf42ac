# `hunch shell-init zsh` wrote this: it tells hunchd which commands ended and how, from git working trees only.
if [[ -o interactive && -z ${_hunch_lines-} ]] && zmodload zsh/datetime && autoload -Uz add-zsh-hook; then
    typeset -g _hunch_lines=@LINES@ _hunch_daemon=@DAEMON@ _hunch_command= _hunch_begun= _hunch_folder=
    typeset -ga _hunch_private=(@PRIVATE@)

    # The first argument is empty when the line is not to be in the history.
    _hunch_preexec() {
        typeset -g _hunch_command=$1 _hunch_begun=$EPOCHREALTIME _hunch_folder=${PWD:A}
    }

    _hunch_precmd() {
        local code=$?
        if [[ -n $_hunch_begun ]]; then
            _hunch_tell $code 2>/dev/null
            _hunch_begun=
        fi
        return $code
    }

    _hunch_tell() {
        emulate -L zsh
        [[ -n $_hunch_command && $_hunch_command != ' '* && -e $_hunch_daemon ]] || return
        _hunch_wanted $_hunch_folder || return
        local command project REPLY
        integer took=$(((EPOCHREALTIME - _hunch_begun) * 1000))
        _hunch_escape ${_hunch_command[1,700]} && command=$REPLY
        _hunch_escape $_hunch_folder && project=$REPLY
        [[ -e $_hunch_lines ]] || (umask 077 && : >>|$_hunch_lines)
        print -r -- "{\"kind\":\"command_finished\",\"project\":\"$project\",\"command\":\"$command\",\"exit_code\":$1,\"duration_ms\":$took,\"source\":\"shell\"}" >>|$_hunch_lines
    }

    # Whether what happens in this folder is told.
    _hunch_wanted() {
        local folder=$1 each
        for each in $_hunch_private; do
            [[ $folder != $each && $folder != $each/* ]] || return 1
        done
        while [[ -n $folder ]]; do
            [[ ! -e $folder/.git ]] || return 0
            folder=${folder%/*}
        done
        return 1
    }

    # $REPLY: the text as the inside of a JSON string.
    _hunch_escape() {
        REPLY=${1//\\/\\\\}
        REPLY=${REPLY//\"/\\\"}
        REPLY=${REPLY//$'\n'/\\n}
        REPLY=${REPLY//$'\t'/\\t}
        REPLY=${REPLY//[[:cntrl:]]/ }
    }

    add-zsh-hook preexec _hunch_preexec
    add-zsh-hook precmd _hunch_precmd
fi
