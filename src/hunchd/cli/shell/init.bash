# `hunch shell-init bash` wrote this: it tells hunchd which commands ended and how, from git working trees only.
if [[ $- == *i* && -z ${_hunch_lines-} ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    _hunch_lines=@LINES@
    _hunch_daemon=@DAEMON@
    _hunch_private=(@PRIVATE@)
    _hunch_nothing='' _hunch_begun=0 _hunch_number='' _hunch_folder='' _hunch_seen=''

    # Expanded between the end of a line and its start, in this very shell: nothing else is as cheap or as quiet.
    if [[ -n ${EPOCHREALTIME-} ]]; then
        PS0='${_hunch_nothing:_hunch_begun=${EPOCHREALTIME/[.,]/}:0}'${PS0-}
    else
        PS0='${_hunch_nothing:_hunch_begun=SECONDS*1000000+1:0}'${PS0-}
    fi

    _hunch_prompt() {
        local code=$? last=$_ begun=$_hunch_begun
        _hunch_begun=0
        ((begun == 0)) || _hunch_tell "$code" "$last" "$begun"
        if [[ $PWD != "$_hunch_seen" ]]; then
            _hunch_seen=$PWD _hunch_folder=$(pwd -P)
        fi
        return "$code"
    }

    _hunch_tell() {
        [[ -e $_hunch_daemon ]] && _hunch_wanted "$_hunch_folder" || return
        local now=${EPOCHREALTIME-} entry number command project line
        now=${now/[.,]/}
        [[ -n $now ]] || now=$((SECONDS * 1000000 + 1))
        entry=$(HISTTIMEFORMAT='' history 1)
        [[ $entry =~ ^\ *([0-9]+)\*?\ (.*)$ ]] || return
        number=${BASH_REMATCH[1]} command=${BASH_REMATCH[2]# }
        if [[ $number == "$_hunch_number" && $HISTCONTROL == *ignore@(space|both)* && $command != *"$2" ]]; then
            return # begun with a space, to be kept out of the history: the newest entry is another command
        fi
        _hunch_number=$number
        [[ -n $command && $command != ' '* ]] || return
        _hunch_escape "${command:0:700}" && command=$REPLY
        _hunch_escape "$_hunch_folder" && project=$REPLY
        printf -v line '{"kind":"command_finished","project":"%s","command":"%s","exit_code":%d,"duration_ms":%d,"source":"shell"}' \
            "$project" "$command" "$1" $(((now - $3) / 1000))
        [[ -e $_hunch_lines ]] || (umask 077 && : >>"$_hunch_lines")
        printf '%s\n' "$line" >>"$_hunch_lines"
    } 2>/dev/null

    # Whether what happens in this folder is told.
    _hunch_wanted() {
        local folder=$1 each
        for each in "${_hunch_private[@]}"; do
            [[ $folder != "$each" && $folder != "$each"/* ]] || return 1
        done
        while [[ -n $folder ]]; do
            [[ ! -e $folder/.git ]] || return 0
            folder=${folder%/*}
        done
        return 1
    }

    # $REPLY: the text as the inside of a JSON string.
    _hunch_escape() {
        local LC_ALL=C
        REPLY=${1//\\/\\\\}
        REPLY=${REPLY//\"/\\\"}
        REPLY=${REPLY//$'\n'/\\n}
        REPLY=${REPLY//$'\t'/\\t}
        REPLY=${REPLY//[[:cntrl:]]/ }
    }

    if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
        PROMPT_COMMAND=(_hunch_prompt "${PROMPT_COMMAND[@]}")
    else
        PROMPT_COMMAND=_hunch_prompt${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}
    fi
fi
