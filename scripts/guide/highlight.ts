const keywords =
  'async|await|break|const|else|export|for|from|function|if|import|instanceof|let|new|of|return|throw|try|catch|type|while'

const languages: Record<string, RegExp> = {
  code: new RegExp(
    `(?<comment>\\/\\/.*$)|(?<string>'[^'\\n]*'|"[^"\\n]*"|\`[^\`]*\`)|(?<word>\\b(?:${keywords})\\b)|(?<number>\\b\\d[\\d_.]*\\b)`,
    'gm',
  ),
  json: /(?<word>"[^"\n]*"(?=\s*:))|(?<string>"[^"\n]*")|(?<number>-?\b\d[\d.]*\b|\b(?:true|false|null)\b)/g,
  sh: /(?<comment>(?<=^|\s)#.*$)|(?<string>'[^']*'|"[^"]*")|(?<word>(?<=^|\| )(?:npm|npx|curl|nginx|caddy|openssl)\b)/gm,
}

const known: Record<string, keyof typeof languages> = {
  ...{ ts: 'code', js: 'code', json: 'json', sh: 'sh', bash: 'sh' },
}

/** Marks comments, texts, words and numbers in a sample. Returns HTML. */
export function highlight(text: string, language: string): string {
  // A block without a language is recognized as commands by its beginning.
  const isTyped = language === '' && /^(?:\w+=\S+ )*(?:npm|npx|curl|nginx|caddy) /.test(text)
  const pattern = languages[isTyped ? 'sh' : (known[language] ?? '')]
  if (!pattern) return escapeHtml(text)
  let html = ''
  let end = 0
  for (const match of text.matchAll(pattern)) {
    const [name = ''] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? []
    html += `${escapeHtml(text.slice(end, match.index))}<span class="${name}">${escapeHtml(match[0])}</span>`
    end = match.index + match[0].length
  }
  return html + escapeHtml(text.slice(end))
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
