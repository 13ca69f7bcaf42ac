" Watcher of opened, saved and closed files.

let s:settle = 20 " ms: buffers that are only passed through are not opened
let s:farewell = 100 " ms
let s:most = 12 " files that a new daemon is told of
let s:open = {} " path → {place, at}
let s:current = ''
let s:timer = -1

" Return the absolute path of a buffer's file, or ''.
function! hunch#files#path(buffer) abort
  let name = bufname(a:buffer)
  if name ==# '' || getbufvar(a:buffer, '&buftype') !=# '' || name =~# '^\a\+://'
    return ''
  endif
  let path = fnamemodify(name, ':p')
  return filereadable(path) ? path : ''
endfunction

function! hunch#files#entered() abort
  let path = hunch#files#path(bufnr())
  if path !=# ''
    call timer_stop(s:timer)
    let s:timer = timer_start(s:settle, {-> s:settled(path)})
  endif
endfunction

function! s:settled(path) abort
  if a:path !=# s:current
    call s:report(a:path)
  endif
endfunction

function! s:report(path) abort
  let s:current = a:path
  let s:open[a:path] = {'place': hunch#projects#place(a:path), 'at': localtime()}
  call hunch#signals#add('file_opened', s:open[a:path].place, {'path': s:open[a:path].place.path})
endfunction

function! hunch#files#saved(buffer) abort
  let path = hunch#files#path(a:buffer)
  if path ==# ''
    return
  endif
  if !has_key(s:open, path)
    call s:report(path) " a new file has its first content
  endif
  let place = s:open[path].place
  call hunch#signals#add('file_saved', place, {'path': place.path})
endfunction

function! hunch#files#closed(buffer) abort
  call s:close(fnamemodify(bufname(a:buffer), ':p'))
endfunction

function! s:close(path) abort
  if has_key(s:open, a:path)
    let place = remove(s:open, a:path).place
    let s:current = s:current ==# a:path ? '' : s:current
    call hunch#signals#add('file_closed', place, {'path': place.path})
  endif
endfunction

" Report a followed suggestion; the daemon learns from it.
function! hunch#files#used(path) abort
  let place = hunch#projects#place(a:path)
  call hunch#signals#add('used', place, {'path': place.path})
endfunction

" A restarted daemon does not know the open files.
function! hunch#files#tell_again() abort
  let paths = sort(keys(s:open), {a, b -> (a ==# s:current) - (b ==# s:current) ?? s:open[a].at - s:open[b].at})
  for path in paths[max([0, len(paths) - s:most]) :]
    if !hunch#signals#will_tell(path)
      call hunch#signals#add('file_opened', s:open[path].place, {'path': s:open[path].place.path}, s:open[path].at)
    endif
  endfor
endfunction

function! hunch#files#leaving() abort
  for path in keys(s:open)
    call s:close(path)
  endfor
  call hunch#signals#last_words(s:farewell)
endfunction
