/** Markdown as elements. Only headings, lists, code, emphasis and paragraphs; links are shown as their text and address. */

import type { ComponentChildren } from "preact";

const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]+)\]\(([^)\s]+)\)/g;

export function Markdown({ text }: { text: string }) {
  return <div class="markdown">{parseBlocks(text)}</div>;
}

function parseBlocks(text: string): ComponentChildren[] {
  const blocks: ComponentChildren[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (line.startsWith("```")) {
      const begin = ++at;
      while (at < lines.length && !lines[at]!.startsWith("```")) at++;
      blocks.push(<pre tabIndex={0}>{lines.slice(begin, at).join("\n")}</pre>);
    } else if (/^( {4}|\t)/.test(line)) {
      const begin = at;
      while (at + 1 < lines.length && /^( {4}|\t|$)/.test(lines[at + 1]!)) at++;
      blocks.push(<pre tabIndex={0}>{lines.slice(begin, at + 1).join("\n").trimEnd()}</pre>);
    } else if (/^#{1,6} /.test(line)) blocks.push(<p class="heading">{parseInline(line.replace(/^#+ /, ""))}</p>);
    else if (/^\s*[-*] /.test(line)) {
      const items = [line];
      while (at + 1 < lines.length && /^\s*[-*] /.test(lines[at + 1]!)) items.push(lines[++at]!);
      blocks.push(
        <ul>
          {items.map((item) => (
            <li>{parseInline(item.replace(/^\s*[-*] /, ""))}</li>
          ))}
        </ul>,
      );
    } else if (line.trim()) blocks.push(<p>{parseInline(line)}</p>);
  }
  return blocks;
}

function parseInline(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(end, found.index));
    end = found.index + found[0].length;
    if (found[1] !== undefined) parts.push(<code>{found[1]}</code>);
    else if (found[2] !== undefined) parts.push(<strong>{found[2]}</strong>);
    else parts.push(`${found[3]} (${found[4]})`);
  }
  parts.push(text.slice(end));
  return parts;
}
