import { escapeHtml } from '@trestle/common/documents/escape-html.ts'
import { decodeHTML, decodeHTMLAttribute } from 'entities'
import { escapeAttribute, escapeCss, escapeScript, escapeText, REFUSED } from './place-escapes.ts'

/** Follows the HTML of one mail as it is rendered, so that each value is escaped for the place where it stands. */
export interface HtmlPlaces {
  /** Reads HTML of the template. */
  read(html: string): void
  /** Returns a value as HTML for the present place. */
  escape(value: string): string
}

interface Position {
  place: Place
  /** The HTML that has been read in this place. A text begins again at each blank. */
  read: string
  /** The name of the last tag, with its slash. */
  tag: string
  attribute: string
  /** Empty for a value without quotes. */
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

/** The elements whose content has no tags. */
const PLAIN_CONTENT: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'title'])
const SPACE = /\s/

/**
 * Creates the follower of a mail. The places and their escapes are those of Go's html/template (reference: Mail templates).
 * Go judges a template before it knows the values. This follower reads the values too, so it sees that a link which
 * begins with one has a query already.
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

/** Returns a value as HTML for a place. Character references before it are read first, as programs that show the mail do. */
function escapeAt({ place, read, tag, attribute, quote }: Position, value: string): string {
  if (place === 'value') return escapeAttribute({ attribute, quote, before: decodeHTMLAttribute(read), value })
  if (place === 'content' && tag === 'script') return escapeScript(value, read)
  if (place === 'content' && tag === 'style') return escapeCss(value, read)
  if (place === 'text') return escapeHtml(escapeText(value, decodeHTML(read)))
  // A template itself names its tags and attributes.
  return /^(?:comment|content|declaration)$/.test(place) ? escapeHtml(value) : REFUSED
}

/** The steps by place: each reads one character of the template. */
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

/** Returns to the tag, or ends it, behind a name or a value. */
function leave(position: Position, character: string): void {
  if (character !== '>') enter(position, 'tag')
  else enter(position, PLAIN_CONTENT.has(position.tag) ? 'content' : 'text')
}

/** Whether a `>` ends a comment. A conditional comment of Outlook holds HTML, so it ends with its condition. */
function endsComment(read: string): boolean {
  return read.endsWith('-->') || read === '>' || read === '->' || /^\s*\[if[^\]>]*\]>$/i.test(read)
}
