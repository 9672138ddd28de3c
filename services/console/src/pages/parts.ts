import { type Html, html } from '@trestle/common/documents/html.ts'
import { attribute } from './form.ts'
import { merchantPath } from './paths.ts'

/** The appearance of a state: good, needs attention, an error, or neutral. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain'

/** A state in one or two words. The words are sufficient, and the colour only repeats them. */
export function badge(text: string, tone: Tone = 'plain'): Html {
  return html`<span class="badge${tone === 'plain' ? '' : ` ${tone}`}">${text}</span>`
}

/** An id with a button that copies it. The button is hidden without JavaScript. */
export function copyableId(id: string): Html {
  return html`<span class="id"><code>${id}</code><button type="button" class="copy" data-copy="${id}" aria-label="Copy ${id}" hidden>${icon('copy')}</button></span>`
}

export function merchantLink(id: string): Html {
  return html`<a href="${merchantPath(id)}"><code>${id}</code></a>`
}

/** A time in UTC. A script shows it in the time zone of the reader, with UTC in the title. */
export function time(iso: string | null | undefined): Html {
  if (iso === null || iso === undefined || Number.isNaN(Date.parse(iso))) return orDash('')
  const utc = new Date(iso).toISOString()
  return html`<time datetime="${utc}">${utc.slice(0, 10)} ${utc.slice(11, 16)} UTC</time>`
}

/** A value, or a muted dash if the value is missing. */
export function orDash(value: Html | string | null | undefined): Html {
  return value === undefined || value === null || value === '' ? html`<span class="soft none">–</span>` : html`${value}`
}

/** A whole number, as `1,234`. */
export function count(number: number): string {
  return number.toLocaleString('en')
}

/** Formats a whole number like `count`. A 0 is muted, so that other numbers stand out. */
export function quietCount(number: number): Html {
  return number === 0 ? html`<span class="soft">0</span>` : html`${count(number)}`
}

/**
 * Adds break points to a text that may be an email address, a URL or a program name: after `@`, a slash or an underscore, and
 * before a dot that a letter follows. A word itself breaks only if it is too long for a line. Amounts and versions stay whole.
 */
export function breakable(text: string): Html {
  const [first = '', ...others] = text.split(/(?<=[@/_])(?![@/_]|$)|(?<=\.)(?=\p{L})/u)
  return html`${first}${others.map((part) => html`<wbr>${part}`)}`
}

/** Links to pages about the same subject. @param current the path of the current page */
export function tabs(label: string, pages: readonly (readonly [path: string, label: string])[], current: string): Html {
  return html`<nav class="tabs" aria-label="${label}"><ul>${pages.map(
    ([path, text]) =>
      html`<li><a href="${path}"${attribute('aria-current', path === current ? 'page' : undefined)}>${text}</a></li>`,
  )}</ul></nav>`
}

/** A list of names and values without the `undefined` values. */
export function factList(facts: readonly (readonly [string, Html | string | undefined])[]): Html {
  const known = facts.flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value] as const]))
  return html`<dl class="facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${typeof value === 'string' ? breakable(value) : value}</dd></div>`)}</dl>`
}

export function card(title: string, body: Html, more: Html | undefined = undefined): Html {
  return html`<section class="card"><div class="card-head"><h2>${title}</h2>${more}</div>${body}</section>`
}

/** The message of an empty list, with the reason. @param actions links that would change this */
export function emptyState(name: IconName, text: string, actions: readonly Html[] = []): Html {
  const ways = actions.length === 0 ? undefined : html`<div class="actions">${actions}</div>`
  return html`<div class="empty">${icon(name)}<p>${text}</p>${ways}</div>`
}

interface PageHead {
  readonly title: string
  /** The list that contains the object. */
  readonly above?: { readonly label: string; readonly path: string }
  readonly badges?: readonly Html[]
  readonly facts?: readonly Html[]
  readonly actions?: readonly Html[]
  /** The reason why other operators have more buttons. */
  readonly note?: string | undefined
}

export function pageHead({ title, above, badges = [], facts = [], actions = [], note }: PageHead): Html {
  return html`${above && html`<p class="crumbs"><a href="${above.path}">${above.label}</a></p>`}
<div class="head"><div class="head-title"><h1>${breakable(title)}</h1>${badges}${facts.length === 0 ? undefined : html`<div class="head-facts">${facts}</div>`}</div>
${actions.length === 0 ? undefined : html`<div class="actions">${actions}</div>`}</div>
${note === undefined ? undefined : html`<p class="hint">${note}</p>`}`
}

/** The appearance of a link to a question: the main action of a page, an irreversible action, or neither. */
export type AskTone = 'main' | 'plain' | 'danger'

const ASK_CLASSES = { main: 'button primary', plain: 'button', danger: 'button danger-quiet' } as const

/** Marks a request that a page sends automatically. It does not count as use of the session. */
const POLL_HEADERS = JSON.stringify({ 'X-Trestle-Poll': '1' })

/** The htmx attributes that reload a part of a page every two seconds while something is in progress. */
export function polled(id: string, path: string): Html {
  return html` hx-get="${path}" hx-trigger="every 2s" hx-select="#${id}" hx-target="#${id}" hx-swap="outerHTML" hx-headers="${POLL_HEADERS}"`
}

/** A link to the question before a change. With JavaScript, the question opens in a dialog. */
export function askLink(path: string, label: string, tone: AskTone = 'plain'): Html {
  return html`<a class="${ASK_CLASSES[tone]}" href="${path}" data-ask>${label}</a>`
}

interface Question {
  readonly title: string
  /** The effects of the change, one sentence each. */
  readonly consequences: readonly string[]
  readonly form: Html
}

/** Renders a question for a separate page or for the dialog. */
export function questionOf({ title, consequences, form }: Question): Html {
  return html`<div class="question"><h1>${title}</h1>
<ul class="consequences">${consequences.map((each) => html`<li>${each}</li>`)}</ul>
${form}</div>`
}

interface DayChart {
  readonly label: string
  /** UTC days in ascending order. */
  readonly days: readonly { readonly date: string; readonly value: number }[]
  readonly tone?: 'bad' | 'second'
  /** Formats a value, such as an amount with its currency. */
  readonly write: (value: number) => string
}

const DAYS = 30
const DAY_MS = 86_400_000
const WIDTH = 480
const HEIGHT = 96
const GAP = 3

/** The last 30 UTC days in ascending order, up to the day of `now`, as `YYYY-MM-DD`. */
export function lastDays(now: Date): readonly string[] {
  return Array.from({ length: DAYS }, (_, at) =>
    new Date(now.getTime() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  )
}

/** Draws values by day, with their sum and maximum. Screen readers get the sum, and each day by its title. */
export function dayChart({ label, days, tone, write }: DayChart): Html {
  const sum = days.reduce((total, { value }) => total + value, 0)
  const most = Math.max(...days.map(({ value }) => value), 0)
  const step = WIDTH / days.length
  const bars = days.map(({ date, value }, at) => {
    // Show at least a small bar for a small value.
    const height = value <= 0 ? 0 : Math.max(2, (value / most) * HEIGHT)
    return html`<rect class="bar${tone === undefined ? '' : ` ${tone}`}" x="${fixed(at * step)}" y="${fixed(HEIGHT - height)}" width="${fixed(step - GAP)}" height="${fixed(height)}" rx="1.5"><title>${date}: ${write(value)}</title></rect>`
  })
  return html`<figure class="day-chart${sum === 0 ? ' none' : ''}"><figcaption><span>${label}</span><strong>${write(sum)}</strong></figcaption>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT + 1}" preserveAspectRatio="none" role="img" aria-label="${label} in the last ${days.length} days: ${write(sum)} in all, ${write(most)} on the highest day"><path class="grid-line" d="M0 ${HEIGHT + 0.5}H${WIDTH}"/>${bars}</svg>
<p class="hint chart-ends"><span>${shortDay(days[0]?.date)}</span><span>${shortDay(days.at(-1)?.date)}</span></p></figure>`
}

/** Formats a UTC day below a chart, such as `28 Oct`. */
function shortDay(date: string | undefined): string {
  if (date === undefined) return ''
  return new Date(date).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

function fixed(number: number): string {
  return number.toFixed(2)
}

/** The limits for JSON on pages: characters and levels for indentation, and characters in total. */
const JSON_MAX = { indented: 20_000, levels: 10, shown: 100_000 } as const

/**
 * Formats JSON of other systems for a page. Indenting a deeply nested value of 1 MB would produce 100 MB, so such a value is
 * written on one line. A large one is truncated.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  const indented = indentedJson(value, text)
  if (indented !== undefined) return indented
  if (text.length <= JSON_MAX.shown) return text
  return `${text.slice(0, JSON_MAX.shown).toWellFormed()}… (the first ${JSON_MAX.shown} of ${text.length} characters)`
}

/**
 * Formats JSON with one member on each line. Returns `undefined` if it is long or deeply nested.
 * @param text the value as JSON on one line, if the caller has it
 */
export function indentedJson(value: unknown, text: string = JSON.stringify(value) ?? ''): string | undefined {
  const isShort = text.length <= JSON_MAX.indented && isWithin(value, JSON_MAX.levels)
  return isShort ? JSON.stringify(value, null, 2) : undefined
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1))
}

const PATHS = {
  overview: 'M2 2.5h5v5H2zM9 2.5h5v3H9zM9 7.5h5v6H9zM2 9.5h5v4H2z',
  users:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 2.8a2.5 2.5 0 0 1 0 4.4M12 9.9c1.6.5 2.5 1.8 2.5 3.6',
  merchants: 'M2 6.5 3 2.5h10l1 4M2 6.5a2 2 0 0 0 4 0 2 2 0 0 0 4 0 2 2 0 0 0 4 0M3 8.3v5.2h10V8.3M6.5 13.5v-3h3v3',
  transactions: 'M1.5 5.5h11M9.5 2.5l3 3-3 3M14.5 10.5h-11M6.5 7.5l-3 3 3 3',
  disputes: 'M8 2 1.5 13.5h13zM8 6.5v3M8 11.5v.1',
  payouts: 'M1.5 13.5h13M3 11V7M6.3 11V7M9.7 11V7M13 11V7M1.5 5 8 2l6.5 3z',
  products: 'M8 1.5 14 4.8v6.4l-6 3.3-6-3.3V4.8zM2 4.8l6 3.4 6-3.4M8 8.2v6.3',
  stock: 'M1.5 13.5v-8L8 2.5l6.5 3v8M4.5 13.5v-5h7v5M4.5 11h7',
  audit: 'M3 1.5h7l3 3v10H3zM5.5 6.5h5M5.5 9h5M5.5 11.5h3',
  settings: 'M2 4.5h6M12 4.5h2M10 2.8v3.4M2 11.5h2M8 11.5h6M6 9.8v3.4',
  jobs: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 4.5V8l2.5 1.5',
  deliveries: 'M14.5 1.5 1.5 6.8l5 2.2 2.2 5zM14.5 1.5l-8 7.5',
  mail: 'M1.5 3.5h13v9h-13zM1.5 4.5 8 9l6.5-4.5',
  apps: 'M9 9.2a3.7 3.7 0 1 0-2.2-2.2L1.5 12.3v2.2h2.2v-1.8h1.8v-1.8zM10.8 5.2v.1',
  exceptions: 'M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2zM8 4.8v3.6M8 11v.1',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7l3.8 3.8',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  menu: 'M2 4h12M2 8h12M2 12h12',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  leave: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  imports: 'M5 13.5V2.5M2 5.5l3-3 3 3M11 2.5v11M8 10.5l3 3 3-3',
  download: 'M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
} as const

export type IconName = keyof typeof PATHS

/** A decorative picture. Screen readers skip it. */
export function icon(name: IconName): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${PATHS[name]}"/></svg>`
}
