# >>> hunch @EVENT@@NOTE@: tells hunchd what happened; `hunch hooks uninstall` removes these lines >>>
@BEFORE@(
    spool=@SPOOL@
    [ -d "$spool" ] || exit 0
    umask 077

    # $escaped: the first argument as the inside of a JSON string.
    escape() {
        rest=$1 escaped= newline='
'
        while :; do
            case $rest in
                *[\"\\"$newline"]*)
                    head=${rest%%[\"\\"$newline"]*}
                    rest=${rest#"$head"}
                    tail=${rest#?}
                    one=${rest%"$tail"}
                    [ "$one" != "$newline" ] || one=n
                    escaped=$escaped$head\\$one
                    rest=$tail
                    ;;
                *)
                    escaped=$escaped$rest
                    return
                    ;;
            esac
        done
    }

    # $git, $branch ("" when detached) and $sha of this working tree; git itself is asked only where files do not tell.
    look() {
        git=${GIT_DIR:-.git}
        [ -d "$git" ] || read -r _ git <"$git" # "gitdir: …" in a linked working tree or a submodule
        read -r head <"$git/HEAD"
        ref=${head#ref: }
        if [ "$ref" = "$head" ]; then
            branch='' sha=$head
            return
        fi
        common=$git
        [ -f "$git/commondir" ] && read -r common <"$git/commondir"
        case $common in
            /*) ;;
            *) [ "$common" = "$git" ] || common=$git/$common ;;
        esac
        branch=${ref#refs/heads/} sha=
        [ -f "$common/$ref" ] && read -r sha <"$common/$ref"
        [ -n "$sha" ] || sha=$(git rev-parse --verify HEAD)
        [ "$branch" != .invalid ] || branch=$(git symbolic-ref --short HEAD) # where references are kept as tables
    }

    # The steps of a rebase are told together at its end.
    rebasing() {
        [ -d "$git/rebase-merge" ] || [ -d "$git/rebase-apply" ]
    }

    # One line in one write: other hooks may write at the same time. A daemon that runs reads it at once and needs no date.
    tell() {
        [ -n "$at" ] || [ -e @RENDEZVOUS@ ] || at=",\"at\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\""
        printf '{"kind":"%s","project":"%s",%s%s,"source":"hook"}\n' "$1" "$project" "$2" "$at" >>"$spool/lines"
    }

    at=''
    escape "$PWD" && project=$escaped
@TOLD@
) >/dev/null 2>&1 || :
@AFTER@# <<< hunch <<<
