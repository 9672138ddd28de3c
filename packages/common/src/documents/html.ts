export interface Html {
  readonly html: string
}

type Part = string | number | Html | readonly Html[] | undefined

/**
 * Builds HTML and escapes all values that are not HTML. So html`<p>${name}</p>` is safe for any name, in elements and in quoted
 * attributes. `undefined` becomes an empty text.
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: texts.reduce((content, text, i) => content + toHtmlText(parts[i - 1]) + text) }
}

function toHtmlText(part: Part): string {
  if (part === undefined) return ''
  if (typeof part === 'object') return 'html' in part ? part.html : part.map((each) => each.html).join('')
  return escapeHtml(String(part))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/**
 * Returns the HTML of an address or path in which lines may break after separators. A part between separators breaks only if it
 * is longer than a line.
 */
export function breakable(text: string): string {
  return escapeHtml(text).replace(/[@?=.]|(?<!\/)\/(?!\/)|&amp;/g, '$&<wbr>')
}
