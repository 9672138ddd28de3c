import { escapeHtml } from '@trestle/common/documents/html.ts'
import { decodeHTML, decodeHTMLAttribute } from 'entities'

/** Follows the HTML of a mail during rendering, so that each value is escaped for its place. */
export interface HtmlPlaces {
  read(html: string): void
  /** Returns a value as HTML for the current place. */
  escape(value: string): string
}

interface Position {
  place: Place
  /** The HTML read so far in this place. In a text, it starts again after each blank. */
  read: string
  /** The name of the last tag, with a slash if it is an end tag. */
  tag: string
  attribute: string
  /** Empty if the value has no quotes. */
  quote: string
}

type Place =
  | 'text'
  | 'tag-open'
  | 'declaration'
  | 'comment'
  | 'tag-name'
  | 'tag'
  | 'attribute-name'
  | 'after-name'
  | 'before-value'
  | 'value'
  | 'content'

/** Elements whose content is not parsed as tags. */
const PLAIN_CONTENT: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'title'])
const SPACE = /\s/

/**
 * Creates the follower of a mail. The places and escapes are those of Go's html/template (reference: Mail templates). Go analyses
 * a template without its values. This follower also reads the values, so it notices a query in a value at the start of a link.
 */
export function createHtmlPlaces(): HtmlPlaces {
  const position: Position = { place: 'text', read: '', tag: '', attribute: '', quote: '' }
  return {
    read: (html) => {
      for (const character of html) steps[position.place](position, character)
    },
    escape: (value) => {
      if (position.place === 'before-value') beginValue(position, '', '')
      const html = escapeAt(position, value)
      position.read += html
      return html
    },
  }
}

/** Returns a value as HTML for a place. Decodes character references before the value first, as mail programs do. */
function escapeAt({ place, read, tag, attribute, quote }: Position, value: string): string {
  if (place === 'value') return escapeAttribute({ attribute, quote, before: decodeHTMLAttribute(read), value })
  if (place === 'content' && tag === 'script') return escapeScript(value, read)
  if (place === 'content' && tag === 'style') return escapeCss(value, read)
  if (place === 'text') return escapeHtml(escapeText(value, decodeHTML(read)))
  // Templates must name their tags and attributes themselves.
  return /^(?:comment|content|declaration)$/.test(place) ? escapeHtml(value) : REFUSED
}

/** The step of each place, which reads one character of the template. */
const steps: Readonly<Record<Place, (position: Position, character: string) => void>> = {
  text: (position, character) => {
    if (character === '<') enter(position, 'tag-open')
    else position.read = SPACE.test(character) ? '' : position.read + character
  },
  'tag-open': (position, character) => {
    if (/[a-z/]/i.test(character)) {
      position.tag = character.toLowerCase()
      enter(position, 'tag-name')
    } else if (/[!?]/.test(character)) enter(position, 'declaration', character)
    else if (character !== '<') enter(position, 'text')
  },
  declaration: (position, character) => {
    position.read += character
    if (position.read === '!--') enter(position, 'comment')
    else if (character === '>') enter(position, 'text')
  },
  comment: (position, character) => {
    position.read += character
    if (character === '>' && endsComment(position.read)) enter(position, 'text')
  },
  'tag-name': (position, character) => {
    if (SPACE.test(character) || character === '>' || character === '/') leave(position, character)
    else position.tag += character.toLowerCase()
  },
  tag: (position, character) => {
    if (character === '>') leave(position, character)
    else if (!SPACE.test(character) && character !== '/') enter(position, 'attribute-name', character)
  },
  'attribute-name': (position, character) => {
    if (character === '=' || SPACE.test(character)) {
      position.attribute = position.read.toLowerCase()
      position.place = character === '=' ? 'before-value' : 'after-name'
    } else if (character === '>' || character === '/') leave(position, character)
    else position.read += character
  },
  'after-name': (position, character) => {
    if (character === '=') position.place = 'before-value'
    else if (character === '>' || character === '/') leave(position, character)
    else if (!SPACE.test(character)) enter(position, 'attribute-name', character)
  },
  'before-value': (position, character) => {
    if (character === '>') leave(position, character)
    else if (/["']/.test(character)) beginValue(position, character, '')
    else if (!SPACE.test(character)) beginValue(position, '', character)
  },
  value: (position, character) => {
    const { quote } = position
    if (quote === '' ? SPACE.test(character) || character === '>' : character === quote) leave(position, character)
    else position.read += character
  },
  content: (position, character) => {
    position.read += character
    const end = `</${position.tag}`
    if (!/[\s/>]/.test(character) || position.read.slice(-end.length - 1, -1).toLowerCase() !== end) return
    position.tag = end.slice(1)
    leave(position, character)
  },
}

function enter(position: Position, place: Place, read = ''): void {
  position.place = place
  position.read = read
}

function beginValue(position: Position, quote: string, first: string): void {
  position.quote = quote
  enter(position, 'value', first)
}

/** After a name or a value, returns to the tag or ends it. */
function leave(position: Position, character: string): void {
  if (character !== '>') enter(position, 'tag')
  else enter(position, PLAIN_CONTENT.has(position.tag) ? 'content' : 'text')
}

/** Whether a `>` ends a comment. Outlook's conditional comment contains HTML, so only its condition counts. */
function endsComment(read: string): boolean {
  return read.endsWith('-->') || read === '>' || read === '->' || /^\s*\[if[^\]>]*\]>$/i.test(read)
}

/** Replaces a value that is not allowed in its place. html/template writes the same text, so it can be looked up. */
const REFUSED = 'ZgotmplZ'

interface AttributeValue {
  /** The name in lower case. */
  readonly attribute: string
  /** Empty if the value has no quotes. */
  readonly quote: string
  readonly before: string
  readonly value: string
}

const URL_ATTRIBUTE =
  /^(?:action|archive|background|cite|classid|codebase|data|formaction|href|icon|longdesc|manifest|ping|poster|profile|usemap)$|src|uri|url/
const SCRIPT_SCHEME = /^(?:javascript|vbscript|data):$/
/** An address at the end of a text. Mail programs turn it into a link. */
const ADDRESS_IN_TEXT = /https?:\/\/[^\s<>"]*$/i
/** An address up to a part of its host. Browsers read \\ as / and need no slash after `https:`. */
const UP_TO_HOST = /^\s*(?:https?:[/\\]*|[/\\]{2,})(?<host>[^/\\?#]*)$/i
const CSS_URL = /url\(\s*["']?([^"')]*)$/i
const CSS_UNSAFE = /["'()/;@[\\\]`{}<>\0]|--|expression|mozbinding/i
/** Comments and complete strings. */
const SCRIPT_ENDED = /\/\/[^\n]*|\/\*.*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`/gs

function escapeAttribute({ attribute, quote, before, value }: AttributeValue): string {
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

/** Escapes a value in a text. Only a value inside an address changes. The result is not yet HTML. */
function escapeText(value: string, before: string): string {
  const address = ADDRESS_IN_TEXT.exec(before)?.[0]
  return address === undefined ? value : escapeUrl(value, address)
}

/**
 * Escapes a value in an address. At the start, a value is a whole address and stays unchanged. After a host, it starts the path.
 * Inside a host, it is part of the host. Before a query, it cannot add a query. In a query or fragment, it is one value.
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
    // encodeURIComponent does not encode these characters.
    /[!'()*]/.test(character)
      ? `%${character.charCodeAt(0).toString(16).toUpperCase()}`
      : encodeURIComponent(character),
  )
}

/** Whether a browser would run the address as a script. */
function isScript(address: string): boolean {
  return SCRIPT_SCHEME.test(URL.parse(address)?.protocol ?? '')
}

/** Escapes a value in CSS: a colour, a size, a name, or an address inside `url()`. */
function escapeCss(value: string, before: string): string {
  const address = CSS_URL.exec(before)?.[1]
  if (address !== undefined) return escapeUrl(value, address)
  return CSS_UNSAFE.test(value) ? REFUSED : value
}

/** Escapes a value in JavaScript or JSON: a string or a part of one. */
function escapeScript(value: string, before: string): string {
  const part = value.replace(/[^\p{L}\p{N} ._,:-]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => unicodeEscape(character.charCodeAt(index))).join(''),
  )
  return /["'`]/.test(before.replace(SCRIPT_ENDED, '')) ? part : `"${part}"`
}

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
