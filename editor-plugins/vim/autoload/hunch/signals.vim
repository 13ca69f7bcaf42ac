" Queue of signals to the daemon: in order, each once, and never blocking.

let s:soon = 150 " ms: what one keystroke causes goes in one request
let s:most = 200 " signals kept while there is no daemon; the oldest go first
let [s:first_pause, s:longest_pause] = [1000, 15000] " ms between attempts

let s:pending = [] " {kind, place, fields, id, at}
let s:under_way = [] " sent, not answered yet
let s:pause = s:first_pause
let s:timer = -1
let s:number = 0
let s:session = printf('vim-%x-%s', getpid(), substitute(reltimestr(reltime()), '\D', '', 'g'))

" Return 1 if an opening of `path` is pending or under way.
function! hunch#signals#will_tell(path) abort
  return !empty(filter(s:pending + s:under_way, {_, one -> one.kind ==# 'file_opened' && one.place.file ==# a:path}))
endfunction

" Queue a signal about `place` (see hunch#projects#place); `at` in seconds, default now.
function! hunch#signals#add(kind, place, fields, at = 0) abort
  let s:number += 1
  let at = strftime('%Y-%m-%dT%H:%M:%S%z', a:at > 0 ? a:at : localtime())
  call add(s:pending, {'kind': a:kind, 'place': a:place, 'fields': a:fields, 'id': s:session .. '-' .. s:number,
        \ 'at': at =~# '[+-]\d\{4}$' ? at : v:null, 'again': 0})
  call s:keep()
  let s:pause = s:first_pause
  call hunch#signals#soon(s:soon)
endfunction

function! hunch#signals#soon(delay) abort
  call timer_stop(s:timer)
  let s:timer = timer_start(a:delay, {-> s:flush()})
endfunction

function! s:keep() abort
  let s:pending = s:pending[max([0, len(s:pending) - s:most]) :]
endfunction

function! s:wire(signal) abort
  let told = {'kind': a:signal.kind, 'project': a:signal.place.project, 'event_id': a:signal.id, 'source': 'editor'}
  return extend(extend(told, a:signal.at is v:null ? {} : {'at': a:signal.at}), a:signal.fields)
endfunction

function! s:request(batch) abort
  return {'method': 'POST', 'path': '/signals', 'body': {'signals': map(copy(a:batch), {_, one -> s:wire(one)})}}
endfunction

function! s:flush() abort
  if !empty(s:under_way)
    return
  endif
  let batch = filter(s:pending, {_, one -> !hunch#projects#is_refused(one.place.project)})
  let s:pending = []
  if empty(batch)
    return
  endif
  let s:under_way = batch
  call hunch#daemon#ask(s:request(batch), function('s:sent', [batch]))
endfunction

function! s:sent(batch, failure, answer, status) abort
  let s:under_way = []
  if empty(a:failure)
    let s:pause = s:first_pause
    call s:introduce(a:batch, a:answer)
    if !empty(s:pending)
      call hunch#signals#soon(0)
    endif
    return hunch#view#follow()
  endif
  " Temporary rejections: a replaced token, too many requests, a starting component, a full disk.
  if a:failure.kind ==# 'refused' && index([401, 429, 503, 507], a:failure.status) < 0
    return
  endif
  let s:pending = a:batch + s:pending
  call s:keep()
  call hunch#signals#soon(s:pause)
  let s:pause = min([s:pause * 2, s:longest_pause])
  if a:failure.kind ==# 'absent'
    call hunch#daemon#start_once({-> hunch#signals#soon(0)})
  endif
endfunction

" Add the projects of signals rejected as unknown, and send these again.
function! s:introduce(batch, answer) abort
  let strangers = {}
  for rejection in get(a:answer, 'rejected', [])
    let signal = a:batch[rejection.index]
    if get(get(rejection, 'error', {}), 'code', '') ==# 'not_found' && !signal.again
      let signal.again = 1
      let strangers[signal.place.project] = add(get(strangers, signal.place.project, []), signal)
    endif
  endfor
  for signals in values(strangers)
    call hunch#projects#add(signals[0].place, function('s:introduced', [signals]))
  endfor
endfunction

function! s:introduced(signals, message) abort
  if a:message ==# ''
    let s:pending = a:signals + s:pending
    call hunch#signals#soon(0)
  endif
endfunction

function! hunch#signals#last_words(patience) abort
  if !empty(s:pending)
    call hunch#daemon#last_words(s:request(s:pending), a:patience)
    let s:pending = []
  endif
endfunction
