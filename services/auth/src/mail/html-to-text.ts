const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' }

/** The plain-text part of a mail: tags are dropped, a link's address follows its words on a line of its own. */
export function htmlToText(html: string): string {
  const text = html
    .replaceAll(/<(style|script|head|title)\b[^>]*>.*?<\/\1\s*>/gis, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<a\b[^>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')[^>]*>(.*?)<\/a\s*>/gi, linkText)
    .replaceAll(/<br\b[^>]*>|<\/(?:p|div|tr|li|h[1-6])\s*>/gi, '\n')
    .replaceAll(/<[^>]*>/g, '')
  return decodeEntities(text)
    .replaceAll(/ *\n */g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

function linkText(_match: string, doubleQuoted: string | undefined, singleQuoted: string | undefined, words: string) {
  const address = doubleQuoted ?? singleQuoted ?? ''
  return words.trim() === address ? address : `${words}:\n${address}\n`
}

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|([a-z]+));/g, (entity, code: string | undefined, name: string | undefined) => {
    if (code === undefined) return ENTITIES[name ?? ''] ?? entity
    const point = Number(code)
    return point <= 0x10ffff ? String.fromCodePoint(point) : entity
  })
}
