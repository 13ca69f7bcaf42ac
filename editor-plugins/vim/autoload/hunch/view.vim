" The window of `:Hunch`: one for each Vim, following the current file.

let s:name = 'hunch://context'
let s:reading = 1500 " ms between two looks at a project that is still being read
let s:room = 120 " columns from which on two windows stand beside each other
let s:path = '' " of the file whose context is shown
let s:query = ''
let s:bundle = {}
let s:about = []
let s:verdicts = {} " id → cited or wrong, what was said of it in this session
let s:timer = -1
let s:kept = {} " path → bundle

" Return the file whose context the current window shows, or ''.
function! hunch#view#path() abort
  return bufname() ==# s:name ? s:path : ''
endfunction

function! s:window() abort
  return bufwinid('^' .. s:name .. '$')
endfunction

" Show the context of `path` in the window; open it if necessary, and enter it.
function! hunch#view#open(path, query) abort
  let [s:path, s:query] = [a:path, a:query]
  if s:window() > 0
    call win_gotoid(s:window())
  else
    call s:make()
  endif
  call s:say(has_key(s:kept, a:path) && a:query ==# '' ? [] : ['', 'asking …'])
  call hunch#view#refresh()
endfunction

function! s:make() abort
  execute &columns >= s:room ? 'botright ' .. hunch#option('width') .. 'vsplit' : 'botright ' .. &lines / 3 .. 'split'
  execute 'edit' fnameescape(s:name)
  setlocal buftype=nofile bufhidden=hide noswapfile nobuflisted filetype=hunch nomodifiable
  setlocal nonumber norelativenumber signcolumn=no nolist nospell wrap linebreak breakindent cursorline
  syntax match hunchNote /^ ! .*/
  syntax match hunchSection /^ \(Now\|Likely next\|Background\|Ask for more\)$/
  syntax match hunchFile /^  › .*/
  syntax match hunchError /^  [✗≠] .*/
  syntax match hunchDecision /^  ◆ .*/
  syntax match hunchPast /^  ○ .*/
  syntax match hunchReason /^      .*/
  highlight default link hunchNote WarningMsg
  highlight default link hunchSection Statement
  highlight default link hunchFile Directory
  highlight default link hunchError ErrorMsg
  highlight default link hunchDecision Type
  highlight default link hunchPast Special
  highlight default link hunchReason Comment
  for [key, action] in items({'<CR>': 'enter', '+': 'helpful', '-': 'not_helpful', 'x': 'forget', 'K': 'why',
        \ 'y': 'copy', 'r': 'refresh', '?': 'help'})
    execute printf('nnoremap <silent> <buffer> <nowait> %s <Cmd>call hunch#view#do("%s")<CR>', key, action)
  endfor
  nnoremap <silent> <buffer> <nowait> q <Cmd>close<CR>
endfunction

function! s:paint(lines, about) abort
  let buffer = bufnr('^' .. s:name .. '$')
  if buffer < 0
    return
  endif
  let s:about = a:about
  let cursor = s:window() > 0 ? getcurpos(s:window()) : []
  call setbufvar(buffer, '&modifiable', 1)
  call setbufline(buffer, 1, a:lines)
  call deletebufline(buffer, len(a:lines) + 1, '$')
  call setbufvar(buffer, '&modifiable', 0)
  if !empty(cursor)
    call win_execute(s:window(), printf('call cursor(%d, 1)', min([cursor[1], len(a:lines)])))
  endif
endfunction

" Show a message below the file's name instead of a context; an empty message keeps the content.
function! s:say(lines) abort
  if !empty(a:lines)
    let s:bundle = {}
    call s:paint([' ' .. fnamemodify(s:path, ':t')] + map(copy(a:lines), {_, line -> line ==# '' ? '' : ' ' .. line}), [])
  endif
endfunction

" Fetch the context of a file; calls `Done(failure, bundle, status)`.
function! hunch#view#fetch(path, query, Done) abort
  let place = hunch#projects#place(a:path)
  let query = {'project': place.project, 'file': place.path}
  if a:query !=# ''
    let query.query = a:query
  endif
  if hunch#option('budget') > 0
    let query.budget = hunch#option('budget')
  endif
  let request = {'method': 'GET', 'path': '/context', 'query': query, 'timeout': 15000}
  let before = a:query ==# '' ? get(s:kept, a:path, {}) : {}
  if get(before, 'etag', '') !=# ''
    let request.headers = {'If-None-Match': '"' .. before.etag .. '"'}
  endif
  call hunch#projects#ask(place, request, {failure, bundle, status -> a:Done(failure, status == 304 ? before : bundle, status)})
endfunction

function! hunch#view#refresh() abort
  if s:window() > 0
    call hunch#view#fetch(s:path, s:query, function('s:fetched', [s:path, s:query]))
  endif
endfunction

function! s:fetched(path, query, failure, bundle, status) abort
  if a:path !=# s:path || a:query !=# s:query || s:window() < 0
    return
  endif
  if !empty(a:failure)
    return s:say(['', a:failure.message, a:failure.kind ==# 'absent' ? '`hunch doctor` in a terminal finds out why.' : '`r` asks again.'])
  endif
  if a:query ==# ''
    let s:kept = len(s:kept) > 40 ? {} : s:kept
    let s:kept[a:path] = a:bundle
  endif
  call s:show(a:bundle)
  if a:bundle.status ==# 'degraded'
    " While the project is being indexed the answer grows.
    call timer_stop(s:timer)
    let s:timer = timer_start(s:reading, {-> hunch#view#refresh()})
  endif
endfunction

function! s:show(bundle) abort
  if empty(a:bundle.items)
    let said = a:bundle.status ==# 'empty' ? ['Nothing relevant is known about this file yet.'] : []
    return s:say([''] + said + get(a:bundle, 'degraded', []))
  endif
  let s:bundle = a:bundle
  let page = hunch#bundle#page(a:bundle, s:verdicts)
  call s:paint(page.lines, page.about)
endfunction

" After openings were reported, show the context of the current file if the window is open.
function! hunch#view#follow() abort
  let path = hunch#files#path(bufnr())
  if s:window() > 0
    if path !=# '' && path !=# s:path
      let [s:path, s:query] = [path, '']
    endif
    call hunch#view#refresh()
  endif
endfunction

" Run the action of a key on the entry under the cursor.
function! hunch#view#do(action) abort
  let about = get(s:about, line('.') - 1, {})
  let item = get(about, 'item', {})
  if a:action ==# 'help'
    echo '<CR> open · + helpful · - not helpful · K why · x forget · y copy · r ask again · q close'
  elseif a:action ==# 'refresh'
    call hunch#view#refresh()
  elseif a:action ==# 'copy' && !empty(s:bundle)
    call setreg(has('clipboard') ? '+' : '"', s:bundle.context)
    echo 'hunch: the context is copied'
  elseif a:action ==# 'enter' && has_key(about, 'topics')
    call s:expand(s:topic(about.topics))
  elseif empty(item)
    echo 'hunch: there is no entry here'
  elseif a:action ==# 'enter'
    call s:enter(item, get(about, 'body', ''))
  elseif a:action ==# 'why'
    call s:tell(hunch#bundle#why(item))
  elseif a:action ==# 'forget'
    call s:forget(item)
  else
    call s:judge(item, a:action ==# 'helpful' ? 'cited' : 'wrong')
  endif
endfunction

function! s:tell(lines) abort
  call popup_atcursor(a:lines, #{border: [], padding: [0, 1, 0, 1], maxheight: &lines / 2, scrollbar: 1})
endfunction

function! s:enter(item, body) abort
  let source = get(a:item, 'source', {})
  let place = hunch#projects#place(s:path)
  if get(source, 'path', v:null) isnot v:null
    call hunch#go(place, source.path, str2nr(get(source, 'line', 0)))
    let name = matchstr(a:body, '\<\(def\|class\|func\|fn\|function\)\>\s*\zs\k\+')
    if name !=# ''
      call search('\V\<' .. escape(name, '\') .. '\>', 'cw')
    endif
  elseif get(source, 'sha', v:null) isnot v:null
    let shown = systemlist(['git', '-C', place.project, 'show', '--stat', '--patch', source.sha])
    call s:tell(shown[:200])
  else
    call s:tell(hunch#bundle#why(a:item))
  endif
endfunction

function! s:topic(topics) abort
  let at = 4
  for topic in a:topics
    let at += strlen(topic) + 2
    if col('.') <= at
      return topic
    endif
  endfor
  return a:topics[0]
endfunction

function! s:expand(topic) abort
  let place = hunch#projects#place(s:path)
  let body = {'project': place.project, 'topic': a:topic}
  call hunch#daemon#ask({'method': 'POST', 'path': '/expand', 'body': body}, function('s:expanded', [a:topic]))
endfunction

function! s:expanded(topic, failure, answer, status) abort
  let text = empty(a:failure) ? get(a:answer, 'text', get(a:answer, 'content', '')) : a:failure.message
  call s:tell(split(text ==# '' ? 'no text is stored for ' .. a:topic : text, "\n", 1))
endfunction

function! s:judge(item, outcome) abort
  let item = {'id': a:item.id, 'outcome': a:outcome, 'project': hunch#projects#place(s:path).project}
  call hunch#daemon#ask({'method': 'POST', 'path': '/feedback', 'body': {'items': [item]}},
        \ function('s:judged', [a:item.id, a:outcome]))
endfunction

function! s:judged(id, outcome, failure, answer, status) abort
  if !empty(a:failure)
    return hunch#warn(a:failure.message)
  endif
  let s:verdicts[a:id] = a:outcome
  if !empty(s:bundle)
    call s:show(s:bundle)
  endif
endfunction

function! s:forget(item) abort
  if a:item.id =~# ':'
    return hunch#warn('this entry is not a memory')
  endif
  call popup_menu(['Delete it permanently', 'Keep it'], #{callback: {_, chosen -> chosen == 1 ? s:forgotten(a:item) : 0}})
endfunction

function! s:forgotten(item) abort
  call hunch#daemon#ask({'method': 'DELETE', 'path': '/memories/' .. a:item.id},
        \ {failure, answer, status -> empty(failure) ? hunch#view#refresh() : hunch#warn(failure.message)})
endfunction
