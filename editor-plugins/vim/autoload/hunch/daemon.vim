" Client of the daemon: finds it by the rendezvous file, sends asynchronous HTTP requests, and starts it if necessary.

let s:protocol = 1
let s:patience = 5000 " ms for an answer; a busy machine may take one or two seconds
let s:connecting = 20 " ms; a listener on this machine takes a connection in less than one
let s:trouble = '' " of the last request; empty when it was answered
let s:known = '' " token of the daemon that answered last
let s:waiting = [] " those who wait for `hunch start` while it runs
let s:starting = 0
let s:tried = 0 " whether it was started without being asked for

function! hunch#daemon#trouble() abort
  return s:trouble
endfunction

" The same folders as in the daemon: see `hunch doctor`.
function! hunch#daemon#file() abort
  let [home, runtime, cache] = [$HUNCHD_HOME, $XDG_RUNTIME_DIR, $XDG_CACHE_HOME]
  if home !=# ''
    return substitute(expand(home), '/$', '', '') .. '/run/daemon.json'
  elseif has('win32')
    return ($LOCALAPPDATA !=# '' ? $LOCALAPPDATA : $HOME .. '/AppData/Local') .. '/Temp/hunchd/daemon.json'
  elseif runtime !=# '' && isdirectory(runtime)
    return runtime .. '/hunchd/daemon.json'
  elseif has('mac')
    return $HOME .. '/Library/Caches/TemporaryItems/hunchd/daemon.json'
  endif
  return (cache !=# '' ? cache : $HOME .. '/.cache') .. '/hunchd/run/daemon.json'
endfunction

" Read the rendezvous file; returns {'message': reason} on failure. It is read for each request, to find a new daemon.
function! s:found() abort
  let file = hunch#daemon#file()
  if getftype(file) ==# ''
    return {'message': 'no daemon is running'}
  endif
  " A file that only its owner may read, and that we can read, belongs to us.
  if getftype(file) !=# 'file' || (!has('win32') && getfperm(file) !=# 'rw-------')
    return {'message': file .. ' is not a private file of yours'}
  endif
  try
    let told = json_decode(join(readfile(file, '', 100), "\n"))
    return type(told.token) == v:t_string && type(told.url) == v:t_string ? told : {'message': file .. ' cannot be understood'}
  catch
    return {'message': file .. ' cannot be understood'}
  endtry
endfunction

" `request`: {method, path, query?, body?, headers?, timeout? (ms)}. `Done(failure, answer, status)` is called once,
" later; failure is empty or {kind, message}: absent, slow, broken, protocol, refused (with status and code).
function! hunch#daemon#ask(request, Done, used = '') abort
  let daemon = s:found()
  let failure = {}
  if has_key(daemon, 'message')
    let failure = {'kind': 'absent', 'message': daemon.message}
  elseif get(daemon, 'protocol') != s:protocol
    let failure = {'kind': 'protocol', 'message': printf(
          \ 'the daemon speaks protocol %s, this plugin %d: update the older one', get(daemon, 'protocol'), s:protocol)}
  endif
  if !empty(failure)
    let s:trouble = failure.message
    return timer_start(0, {-> a:Done(failure, {}, 0)})
  endif
  call s:send({'request': a:request, 'Done': a:Done, 'used': a:used, 'daemon': daemon, 'received': '', 'finished': 0})
endfunction

function! s:send(state) abort
  let address = substitute(a:state.daemon.url, '^http://\(.\{-}\)/*$', '\1', '')
  let a:state.timer = timer_start(get(a:state.request, 'timeout', s:patience),
        \ {-> s:fail(a:state, 'slow', 'the daemon did not answer in time')})
  try
    let a:state.channel = ch_open(address, {'mode': 'raw', 'waittime': s:connecting,
          \ 'callback': function('s:received', [a:state]), 'close_cb': function('s:closed', [a:state])})
    if ch_status(a:state.channel) !=# 'open'
      return s:fail(a:state, 'absent', 'no daemon is running')
    endif
    call ch_sendraw(a:state.channel, hunch#daemon#raw(a:state.daemon, a:state.request))
  catch
    call s:fail(a:state, 'absent', 'no daemon is running')
  endtry
endfunction

" Return the bytes of a request.
function! hunch#daemon#raw(daemon, request) abort
  let body = has_key(a:request, 'body') ? json_encode(a:request.body) : ''
  let lines = [
        \ a:request.method .. ' ' .. s:target(a:request) .. ' HTTP/1.1',
        \ 'Host: ' .. substitute(a:daemon.url, '^http://\(.\{-}\)/*$', '\1', ''),
        \ 'Authorization: Bearer ' .. a:daemon.token,
        \ 'Connection: close']
  for [name, value] in items(get(a:request, 'headers', {}))
    call add(lines, name .. ': ' .. value)
  endfor
  if body !=# ''
    call extend(lines, ['Content-Type: application/json', 'Content-Length: ' .. strlen(body)])
  endif
  return join(lines, "\r\n") .. "\r\n\r\n" .. body
endfunction

function! s:target(request) abort
  let pairs = map(sort(items(get(a:request, 'query', {}))), {_, pair -> s:encoded(pair[0]) .. '=' .. s:encoded(pair[1])})
  return a:request.path .. (empty(pairs) ? '' : '?' .. join(pairs, '&'))
endfunction

function! s:encoded(value) abort
  let bytes = map(range(strlen(a:value)), {i -> strpart(a:value, i, 1)})
  return join(map(bytes, {_, byte -> byte =~# '[A-Za-z0-9._~/-]' ? byte : printf('%%%02X', char2nr(byte, 0) % 256)}), '')
endfunction

function! s:received(state, _, chunk) abort
  let a:state.received ..= a:chunk
  call s:look(a:state, 0)
endfunction

function! s:closed(state, _) abort
  call s:look(a:state, 1)
  call s:fail(a:state, 'broken', 'the daemon closed the connection before its answer was complete')
endfunction

" Return 1 if the response is complete.
function! s:look(state, ended) abort
  let at = stridx(a:state.received, "\r\n\r\n")
  if at < 0 || a:state.finished
    return
  endif
  let head = tolower(strpart(a:state.received, 0, at))
  let body = strpart(a:state.received, at + 4)
  let status = str2nr(matchstr(head, '^http/1\.\d \zs\d\d\d'))
  let length = matchstr(head, '\ncontent-length: *\zs\d\+')
  if status == 304 || status == 204
    call s:answered(a:state, status, 'null')
  elseif length !=# '' ? strlen(body) >= str2nr(length) : a:ended
    call s:answered(a:state, status, length !=# '' ? strpart(body, 0, str2nr(length)) : body)
  endif
endfunction

function! s:answered(state, status, body) abort
  call s:finish(a:state)
  if a:status == 401 && a:state.used !=# a:state.daemon.token
    " The daemon may have just been restarted: the file has its new token by now.
    return hunch#daemon#ask(a:state.request, a:state.Done, a:state.daemon.token)
  endif
  try
    let answer = json_decode(a:body ==# '' ? 'null' : a:body)
  catch
    let s:trouble = "the daemon's answer is no JSON"
    return a:state.Done({'kind': 'broken', 'message': s:trouble}, {}, a:status)
  endtry
  if a:status >= 400
    let said = type(answer) == v:t_dict ? get(answer, 'error', {}) : {}
    let failure = {'kind': 'refused', 'status': a:status, 'code': get(said, 'code', ''),
          \ 'message': get(said, 'message', 'the daemon answered ' .. a:status)}
    let s:trouble = a:status == 401 ? failure.message : ''
    return a:state.Done(failure, answer, a:status)
  endif
  let [troubled, s:trouble] = [s:trouble, '']
  let [before, s:known] = [s:known, a:state.daemon.token]
  if before !=# '' && before !=# s:known
    " A new daemon does not know the open files.
    call hunch#projects#reset()
    call hunch#files#tell_again()
  endif
  call a:state.Done({}, answer, a:status)
  if troubled !=# ''
    call hunch#signals#soon(0)
  endif
endfunction

function! s:fail(state, kind, message) abort
  if !a:state.finished
    call s:finish(a:state)
    let s:trouble = a:message
    call timer_start(0, {-> a:state.Done({'kind': a:kind, 'message': a:message}, {}, 0)})
  endif
endfunction

function! s:finish(state) abort
  let a:state.finished = 1
  call timer_stop(a:state.timer)
  if has_key(a:state, 'channel') && index(['open', 'buffered'], ch_status(a:state.channel)) >= 0
    call ch_close(a:state.channel)
  endif
endfunction

" Run `hunch start` and call `Done(message)` when it has ended; the message is empty on success.
function! hunch#daemon#start(Done) abort
  let command = hunch#option('command')
  if !executable(command)
    return a:Done('no daemon is running, and there is no `' .. command .. '` to start it: install hunchd, or set g:hunch_command')
  endif
  call add(s:waiting, a:Done)
  if !s:starting
    let s:starting = 1
    call job_start([command, 'start'], {'in_io': 'null', 'out_io': 'null', 'err_io': 'null', 'exit_cb': function('s:started')})
  endif
endfunction

function! s:started(_, code) abort
  let [waiting, s:waiting, s:starting] = [s:waiting, [], 0]
  for Done in waiting
    call Done(a:code == 0 ? '' : '`hunch start` failed: try it in a terminal')
  endfor
endfunction

" Send a request of the user; if there is no daemon, start it and send the request again.
function! hunch#daemon#ask_or_start(request, Done) abort
  call hunch#daemon#ask(a:request, {failure, answer, status ->
        \ get(failure, 'kind', '') ==# 'absent' && hunch#option('start')
        \ ? hunch#daemon#start({trouble -> trouble ==# '' ? hunch#daemon#ask(a:request, a:Done)
        \   : a:Done({'kind': 'absent', 'message': trouble}, {}, 0)})
        \ : a:Done(failure, answer, status)})
endfunction

" Start the daemon automatically, once only, so that a daemon stopped by the user stays stopped.
function! hunch#daemon#start_once(Done) abort
  if !s:tried && hunch#option('start')
    let s:tried = 1
    call hunch#daemon#start({trouble -> trouble ==# '' ? a:Done() : 0})
  endif
endfunction

" Flush at exit: a request gets `patience` ms if the daemon has answered until now.
function! hunch#daemon#last_words(request, patience) abort
  let daemon = s:found()
  if s:known ==# '' || s:trouble !=# '' || get(daemon, 'token', '') !=# s:known
    return
  endif
  let address = substitute(daemon.url, '^http://\(.\{-}\)/*$', '\1', '')
  try
    let channel = ch_open(address, {'mode': 'raw', 'waittime': s:connecting})
    call ch_evalraw(channel, hunch#daemon#raw(daemon, a:request), {'timeout': a:patience})
    call ch_close(channel)
  catch
    " too late to report it
  endtry
endfunction
