export interface Html {
  readonly html: string
}

type Part = string | number | Html | readonly Html[] | undefined

/**
 * Makes HTML. Values that are not HTML are escaped, so html`<p>${name}</p>` is safe for any name, in elements and in
 * quoted attributes. Undefined becomes nothing.
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
 * The HTML of an address or a path, in which lines may break behind the signs that divide it. So a word breaks only where it is
 * longer than a line.
 */
export function breakable(text: string): string {
  return escapeHtml(text).replace(/[@?=.]|(?<!\/)\/(?!\/)|&amp;/g, '$&<wbr>')
}
