" Projects of files, and adding them to the daemon.

let s:roots = {} " folder → root of its repository, or ''
let s:refused = {} " roots and folders that the daemon does not know and shall not

function! hunch#projects#reset() abort
  let s:refused = {}
endfunction

" Return {project, path, file, in_git} of an absolute path. Outside of a repository `project` is the file's folder: the
" daemon finds the plain folder that contains it, if one was added.
function! hunch#projects#place(file) abort
  let folder = fnamemodify(a:file, ':h')
  if !has_key(s:roots, folder)
    let s:roots[folder] = s:root(folder)
  endif
  let root = s:roots[folder]
  if root ==# ''
    return {'project': folder, 'path': a:file, 'file': a:file, 'in_git': 0}
  endif
  return {'project': root, 'path': strpart(a:file, strlen(substitute(root, '/$', '', '')) + 1), 'file': a:file, 'in_git': 1}
endfunction

function! s:root(folder) abort
  let place = a:folder
  while 1
    if getftype(place .. '/.git') !=# ''
      return place
    endif
    let above = fnamemodify(place, ':h')
    if above ==# place
      return ''
    endif
    let place = above
  endwhile
endfunction

function! hunch#projects#is_refused(project) abort
  return has_key(s:refused, a:project)
endfunction

function! s:may_add(place) abort
  if !a:place.in_git || a:place.project ==# substitute($HOME, '/$', '', '')
    return 0
  endif
  let add = hunch#option('add')
  return type(add) == v:t_func ? add(a:place.project) : add
endfunction

" Add a project that the daemon rejected as unknown, if allowed. Calls `Done(message)`; empty on success.
function! hunch#projects#add(place, Done) abort
  if !s:may_add(a:place)
    let s:refused[a:place.project] = 1
    return a:Done(a:place.project .. ' is not known to hunchd: `hunch add ' .. a:place.project .. '` adds it')
  endif
  let request = {'method': 'POST', 'path': '/projects', 'body': {'path': a:place.project}}
  call hunch#daemon#ask(request, function('s:added', [a:place, a:Done]))
endfunction

function! s:added(place, Done, failure, answer, status) abort
  if get(a:failure, 'kind', '') ==# 'refused'
    let s:refused[a:place.project] = 1
  endif
  call a:Done(get(a:failure, 'message', ''))
endfunction

" Send a request of the user about a file; start the daemon and add the project if necessary.
function! hunch#projects#ask(place, request, Done) abort
  call hunch#daemon#ask_or_start(a:request, {failure, answer, status -> get(failure, 'status') == 404
        \ ? hunch#projects#add(a:place, {message -> message ==# '' ? hunch#daemon#ask(a:request, a:Done)
        \   : a:Done({'kind': 'unknown', 'message': message}, {}, 0)})
        \ : a:Done(failure, answer, status)})
endfunction
