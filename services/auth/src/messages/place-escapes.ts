import { escapeHtml } from '@trestle/common/documents/escape-html.ts'

/** Stands for a value that its place cannot hold. html/template writes the same text, and so people can look it up. */
export const REFUSED = 'ZgotmplZ'

/** A value of an attribute, and what stands before it there. */
export interface AttributeValue {
  /** The name in small letters. */
  readonly attribute: string
  /** Empty where the attribute has no quotes. */
  readonly quote: string
  readonly before: string
  readonly value: string
}

const URL_ATTRIBUTE =
  /^(?:action|archive|background|cite|classid|codebase|data|formaction|href|icon|longdesc|manifest|ping|poster|profile|usemap)$|src|uri|url/
const SCRIPT_SCHEME = /^(?:javascript|vbscript|data):$/
/** The address in which a text ends. A mail program makes it a link. */
const ADDRESS_IN_TEXT = /https?:\/\/[^\s<>"]*$/i
/** An address up to its host, or to a part of the host. Browsers read \\ as /, and need none behind `https:`. */
const UP_TO_HOST = /^\s*(?:https?:[/\\]*|[/\\]{2,})(?<host>[^/\\?#]*)$/i
const CSS_URL = /url\(\s*["']?([^"')]*)$/i
const CSS_UNSAFE = /["'()/;@[\\\]`{}<>\0]|--|expression|mozbinding/i
/** Comments, and strings that have ended. */
const SCRIPT_ENDED = /\/\/[^\n]*|\/\*.*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`/gs

/** Returns a value as HTML for an attribute. */
export function escapeAttribute({ attribute, quote, before, value }: AttributeValue): string {
  const html = escapeHtml(forAttribute(attribute.replace(/^(?:data-|[^:]*:)/, ''), value, before))
  if (quote !== '') return html
  const bare = html.replace(/[\s=`]/g, (character) => `&#${character.charCodeAt(0)};`)
  return bare === '' && before === '' ? REFUSED : bare
}

function forAttribute(name: string, value: string, before: string): string {
  if (name === 'style') return escapeCss(value, before)
  if (name.endsWith('srcset')) return escapeUrl(value, /[^\s,]*$/.exec(before)?.[0] ?? '').replaceAll(',', '%2C')
  if (URL_ATTRIBUTE.test(name)) return escapeUrl(value, before)
  return name.startsWith('on') ? escapeScript(value, before) : escapeText(value, before)
}

/** Returns a value of a text, which is changed only where it is part of an address. The result is not HTML yet. */
export function escapeText(value: string, before: string): string {
  const address = ADDRESS_IN_TEXT.exec(before)?.[0]
  return address === undefined ? value : escapeUrl(value, address)
}

/**
 * Returns a value of an address. At the start it is a whole address, and stays as it is. Behind a host it begins the path, and
 * inside a host it is a part of that. Behind the start of the address it adds no query, and in a query or a fragment it is one
 * value.
 */
function escapeUrl(value: string, before: string): string {
  if (/[?#]/.test(before)) return percentEncode(value.toWellFormed(), /[^\w.~-]/gu)
  if (isScript(before + value) && !isScript(before)) return `#${REFUSED}`
  const host = UP_TO_HOST.exec(before)?.groups?.host
  if (host !== undefined && /^$|[.:@-]$/.test(host)) return percentEncode(value.toWellFormed(), /[^\w.:-]/gu)
  if (host !== undefined && value !== '' && !value.startsWith('/')) return escapeUrl(`/${value}`, before)
  const address = percentEncode(value.toWellFormed(), /%(?![\dA-Fa-f]{2})|[^\w.~!#$&*+,/:;=?@[\]%-]/gu)
  return before.trim() === '' ? address : percentEncode(address, /[?#]/g)
}

function percentEncode(text: string, unsafe: RegExp): string {
  return text.replace(unsafe, (character) =>
    // encodeURIComponent leaves these as they are.
    /[!'()*]/.test(character)
      ? `%${character.charCodeAt(0).toString(16).toUpperCase()}`
      : encodeURIComponent(character),
  )
}

/** Whether an address runs its text. */
function isScript(address: string): boolean {
  return SCRIPT_SCHEME.test(URL.parse(address)?.protocol ?? '')
}

/** Returns a value of CSS: a colour, a size, a name, or an address inside `url()`. */
export function escapeCss(value: string, before: string): string {
  const address = CSS_URL.exec(before)?.[1]
  if (address !== undefined) return escapeUrl(value, address)
  return CSS_UNSAFE.test(value) ? REFUSED : value
}

/** Returns a value of JavaScript or JSON: a string, or a part of one. */
export function escapeScript(value: string, before: string): string {
  const part = value.replace(/[^\p{L}\p{N} ._,:-]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => unicodeEscape(character.charCodeAt(index))).join(''),
  )
  return /["'`]/.test(before.replace(SCRIPT_ENDED, '')) ? part : `"${part}"`
}

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
