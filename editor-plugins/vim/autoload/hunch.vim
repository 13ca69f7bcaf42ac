" Public functions.

" Return an option, or its default.
function! hunch#option(name) abort
  let defaults = {'start': 1, 'command': 'hunch', 'add': 1, 'budget': 0, 'width': 62}
  return get(g:, 'hunch_' .. a:name, defaults[a:name])
endfunction

function! hunch#warn(message) abort
  echohl WarningMsg
  echomsg 'hunch: ' .. a:message
  echohl None
endfunction

function! s:here() abort
  let path = hunch#files#path(bufnr())
  return path !=# '' ? path : hunch#view#path()
endfunction

" Show the context of the current file; with words, for that task.
function! hunch#show(query = '') abort
  let path = s:here()
  if path ==# ''
    return hunch#warn('this window shows no file')
  endif
  call hunch#view#open(path, a:query)
endfunction

" Choose among the related files.
function! hunch#related() abort
  let path = s:here()
  if path ==# ''
    return hunch#warn('this window shows no file')
  endif
  let place = hunch#projects#place(path)
  let body = {'project': place.project, 'file_opened': place.path, 'k': 10}
  let request = {'method': 'POST', 'path': '/context/predict', 'body': body, 'timeout': 15000}
  call hunch#projects#ask(place, request, function('s:offer', [place]))
endfunction

function! s:offer(place, failure, answer, status) abort
  if !empty(a:failure)
    return hunch#warn(a:failure.message)
  endif
  let files = a:answer.predicted_files
  if empty(files)
    return hunch#warn(get(get(a:answer, 'degraded', []), 0, 'no related files are known for ' .. a:place.path))
  endif
  let lines = map(copy(files), {_, file -> printf('%3.0f %%  %s  (%s)',
        \ file.confidence * 100, file.path, join(get(file, 'reasons', []), ' · '))})
  call popup_menu(lines, #{title: ' After ' .. a:place.path .. ' ', maxwidth: &columns - 8,
        \ callback: {_, chosen -> chosen > 0 ? hunch#go(a:place, files[chosen - 1].path, 0) : 0}})
endfunction

" Search the code of the project for a question in words; list what answers it in the quickfix window.
function! hunch#search(query) abort
  let file = s:here()
  let place = hunch#projects#place(file !=# '' ? file : getcwd() .. '/.')
  let body = {'project': place.project, 'query': a:query, 'kinds': ['code'], 'k': 20}
  let request = {'method': 'POST', 'path': '/search', 'body': body, 'timeout': 15000}
  call hunch#projects#ask(place, request, function('s:list', [place, a:query]))
endfunction

function! s:list(place, query, failure, answer, status) abort
  if !empty(a:failure)
    return hunch#warn(a:failure.message)
  elseif empty(a:answer.results)
    return hunch#warn(get(get(a:answer, 'degraded', []), 0, 'no code was found for ' .. a:query))
  endif
  let items = map(copy(a:answer.results), {_, result -> {
        \ 'filename': a:place.project .. '/' .. result.source.path, 'lnum': result.source.start_line, 'text': result.title}})
  call setqflist([], ' ', {'title': 'hunch: ' .. a:query, 'items': items})
  botright copen
endfunction

" Open a file of the project in a window for files, and report it as used.
function! hunch#go(place, path, line) abort
  let file = a:place.in_git ? a:place.project .. '/' .. a:path : a:path
  if &buftype !=# ''
    let windows = filter(range(1, winnr('$')), {_, nr -> getbufvar(winbufnr(nr), '&buftype') ==# ''})
    execute empty(windows) ? 'topleft vsplit' : windows[0] .. 'wincmd w'
  endif
  call hunch#files#used(file)
  execute 'edit' fnameescape(file)
  if a:line > 0
    call cursor(a:line, 1)
  endif
endfunction

" Copy the context of the current file as Markdown, for a chat or a prompt.
function! hunch#copy() abort
  let path = s:here()
  if path ==# ''
    return hunch#warn('this window shows no file')
  endif
  call hunch#view#fetch(path, '', function('s:copy'))
endfunction

function! s:copy(failure, bundle, status) abort
  if !empty(a:failure)
    return hunch#warn(a:failure.message)
  endif
  call setreg(has('clipboard') && v:register ==# '"' ? '+' : v:register, a:bundle.context)
  echomsg 'hunch: the context is copied'
endfunction
