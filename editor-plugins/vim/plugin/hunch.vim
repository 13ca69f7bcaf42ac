" Commands and autocommands. All else is loaded on demand, to keep the start of Vim fast.
if exists('g:loaded_hunch') || has('nvim')
  finish
endif
let g:loaded_hunch = 1

if v:version < 900 || !has('channel') || !has('job') || !has('timers') || &compatible
  echomsg 'hunch needs Vim 9.0 or newer with +channel, +job and +timers, and nocompatible'
  finish
endif

command! -nargs=* Hunch call hunch#show(<q-args>)
command! HunchRelated call hunch#related()
command! -nargs=+ HunchSearch call hunch#search(<q-args>)
command! HunchCopy call hunch#copy()

augroup hunch
  autocmd!
  autocmd BufEnter * call hunch#files#entered()
  autocmd BufWritePost * call hunch#files#saved(str2nr(expand('<abuf>')))
  autocmd BufDelete,BufWipeout * call hunch#files#closed(str2nr(expand('<abuf>')))
  autocmd VimLeavePre * call hunch#files#leaving()
augroup END
