/**
 * The web addresses in a mail, each once, in the order of their first appearance: those of its text and those that the
 * links of its HTML lead to.
 */
export function linksOf({ text, html }: { readonly text: string | null; readonly html: string | null }): string[] {
  const inText = [...(text ?? '').matchAll(/https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/g)].map(([url]) => url)
  const inHtml = [...(html ?? '').matchAll(/\shref\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)].map(([, a, b]) =>
    decodeEntities(a ?? b ?? ''),
  )
  return [...new Set([...inText, ...inHtml])].filter((url) => /^https?:\/\//.test(url))
}

/** Those that addresses in HTML are written with. */
function decodeEntities(text: string): string {
  return text.replace(/&(amp|quot|#39|#x27|lt|gt);/gi, (entity, name: string) => entities[name.toLowerCase()] ?? entity)
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  '#39': "'",
  '#x27': "'",
  lt: '<',
  gt: '>',
}
