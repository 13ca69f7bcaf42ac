" Renders a bundle as lines, with the subject of each. Pure: no windows, no daemon.
"
" The n-th line of the Markdown that begins with "- " is the n-th item; the indented lines below belong to it.

let s:titles = ['', 'Now', 'Likely next', 'Background', 'Ask for more']
let s:signs = {'error': '✗', 'contradiction': '≠', 'decision': '◆', 'fact': '◆', 'episode': '○', 'file': '›'}
let s:verdicts = {'cited': 'helpful', 'wrong': 'not helpful'}

" The quotation marks protect language models from instructions in titles; they are removed for display.
function! s:unquoted(text) abort
  return substitute(a:text, '^«\(.*\)»$', '\1', '')
endfunction

function! s:thousands(number) abort
  return substitute(a:number, '\d\zs\(\(\d\d\d\)\+$\)\@=', ',', 'g')
endfunction

" {lines, about}: about[n] is {item?, body?, topics?} of the n-th line, from 0.
function! hunch#bundle#page(bundle, verdicts) abort
  let page = {'lines': [], 'about': []}
  let lines = split(a:bundle.context, "\n", 1)
  call s:add(page, ' ' .. matchstr(lines[0], '^# \zs.\{-}\ze · [0-9,]\+ '), {})
  call s:add(page, printf(' %s of %s tokens', s:thousands(a:bundle.token_count), s:thousands(a:bundle.budget)), {})
  for note in get(a:bundle, 'degraded', [])
    call s:add(page, ' ! ' .. note, {})
  endfor
  let [number, item, tier] = [0, {}, 0]
  for line in lines
    if line[:1] ==# '- '
      let item = get(a:bundle.items, number, {})
      let number += 1
      if !empty(item)
        if item.tier != tier
          let tier = item.tier
          call s:add(page, '', {})
          call s:add(page, ' ' .. s:titles[tier], {})
        endif
        call s:add_item(page, item, line[2:], get(a:verdicts, item.id, ''))
      endif
    elseif line[:3] ==# '    ' && !empty(item)
      call s:add(page, '      ' .. line[4:], {'item': item, 'body': line[4:]})
    elseif stridx(line, ' · `hunch expand TOPIC`') >= 0
      call s:add(page, '', {})
      call s:add(page, ' ' .. s:titles[4], {})
      call s:add_topics(page, split(substitute(line, ' · `hunch expand TOPIC`', '', ''), ', '))
    elseif line !=# ''
      let item = {}
    endif
  endfor
  return page
endfunction

function! s:add(page, line, about) abort
  " Replace line breaks inside a line.
  call add(a:page.lines, substitute(a:line, '[\r\n]\+', ' ', 'g'))
  call add(a:page.about, a:about)
endfunction

function! s:add_item(page, item, line, verdict) abort
  let source = get(a:item, 'source', {})
  let title = s:unquoted(get(a:item, 'title', '') !=# '' ? a:item.title : a:line)
  let chance = a:item.kind ==# 'file' ? printf('  %.0f %%', a:item.score * 100) : ''
  call s:add(a:page, '  ' .. get(s:signs, a:item.kind, '·') .. ' ' .. title .. chance, {'item': a:item})
  let reasons = (a:verdict !=# '' ? [s:verdicts[a:verdict]] : []) + get(a:item, 'reasons', [])
  if !empty(reasons)
    call s:add(a:page, '      ' .. join(reasons, ' · '), {'item': a:item})
  endif
endfunction

function! s:add_topics(page, topics) abort
  for begin in range(0, len(a:topics) - 1, 4)
    let some = a:topics[begin : begin + 3]
    call s:add(a:page, '    ' .. join(some, '  ') .. '  ', {'topics': some})
  endfor
endfunction

" Return the reasons of an item as lines.
function! hunch#bundle#why(item) abort
  let lines = [s:unquoted(get(a:item, 'title', a:item.id)), '']
  call extend(lines, map(copy(get(a:item, 'reasons', [])), {_, reason -> '- ' .. reason}))
  for [name, value] in sort(items(get(a:item, 'source', {})))
    if type(value) == v:t_string || type(value) == v:t_number
      call add(lines, name .. ': ' .. value)
    endif
  endfor
  call extend(lines, ['trust: ' .. a:item.trust, printf('score: %.2f, %d tokens', a:item.score, a:item.tokens)])
  return lines
endfunction
