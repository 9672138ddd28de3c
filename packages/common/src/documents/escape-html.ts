const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for the content or a quoted attribute of HTML. */
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
