import { escapeHtml } from './escape-html.ts'

/** Text that is HTML. Templates escape everything else. */
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
