import { type Html, html } from '@trestle/common/documents/html.ts'
import { attribute } from './form.ts'
import { type IconName, icon } from './icons.ts'
import { merchantPath } from './paths.ts'

/** How a state looks: good news, something to look at, something wrong, or nothing of these. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain'

/** A state in a word or two. The word says all; the colour only repeats it. */
export function badge(text: string, tone: Tone = 'plain'): Html {
  return html`<span class="badge${tone === 'plain' ? '' : ` ${tone}`}">${text}</span>`
}

/** An id with a button that copies it. Without script there is no button. */
export function copyableId(id: string): Html {
  return html`<span class="id"><code>${id}</code><button type="button" class="copy" data-copy="${id}" aria-label="Copy ${id}" hidden>${icon('copy')}</button></span>`
}

/** The id of a merchant, as a link to it. */
export function merchantLink(id: string): Html {
  return html`<a href="${merchantPath(id)}"><code>${id}</code></a>`
}

/** A time. It is written in UTC; a script shows it in the zone of the reader, with UTC in the title. */
export function time(iso: string | null | undefined): Html {
  if (iso === null || iso === undefined || Number.isNaN(Date.parse(iso))) return orDash('')
  const utc = new Date(iso).toISOString()
  return html`<time datetime="${utc}">${utc.slice(0, 10)} ${utc.slice(11, 16)} UTC</time>`
}

/** A value, or a muted dash when the value is missing. */
export function orDash(value: Html | string | null | undefined): Html {
  return value === undefined || value === null || value === '' ? html`<span class="soft none">–</span>` : html`${value}`
}

/** A whole number, as `1,234`. */
export function count(number: number): string {
  return number.toLocaleString('en')
}

/** A whole number as `count` writes it, with a soft 0: where 0 is usual, the other numbers should be seen. */
export function quietCount(number: number): Html {
  return number === 0 ? html`<span class="soft">0</span>` : html`${count(number)}`
}

/**
 * A text that may be an email address, a URL or a name of the program, which a narrow page breaks behind `@`, a slash, an
 * underscore, or a dot before a letter, and in the middle of a word only where a word alone is too long. Amounts and versions
 * stay whole.
 */
export function breakable(text: string): Html {
  const [first = '', ...others] = text.split(/(?<=[@/_])(?![@/_]|$)|(?<=\.)(?=\p{L})/u)
  return html`${first}${others.map((part) => html`<wbr>${part}`)}`
}

/** Pages that show the same thing from several sides, as links. @param current the path of the page that is shown */
export function tabs(label: string, pages: readonly (readonly [path: string, label: string])[], current: string): Html {
  return html`<nav class="tabs" aria-label="${label}"><ul>${pages.map(
    ([path, text]) =>
      html`<li><a href="${path}"${attribute('aria-current', path === current ? 'page' : undefined)}>${text}</a></li>`,
  )}</ul></nav>`
}

/** A list of names and values. Undefined values are left out. */
export function factList(facts: readonly (readonly [string, Html | string | undefined])[]): Html {
  const known = facts.flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value] as const]))
  return html`<dl class="facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${typeof value === 'string' ? breakable(value) : value}</dd></div>`)}</dl>`
}

/** A part of a page with a heading. */
export function card(title: string, body: Html, more: Html | undefined = undefined): Html {
  return html`<section class="card"><div class="card-head"><h2>${title}</h2>${more}</div>${body}</section>`
}

/** The message of a part that has nothing to show, and why. @param actions links to what would change that */
export function emptyState(name: IconName, text: string, actions: readonly Html[] = []): Html {
  const ways = actions.length === 0 ? undefined : html`<div class="actions">${actions}</div>`
  return html`<div class="empty">${icon(name)}<p>${text}</p>${ways}</div>`
}

/** The head of a page: where it belongs, what it shows, what can be done. */
export interface PageHead {
  readonly title: string
  /** The list that it belongs to. */
  readonly above?: { readonly label: string; readonly path: string }
  readonly badges?: readonly Html[]
  readonly facts?: readonly Html[]
  readonly actions?: readonly Html[]
  /** Why others have more buttons. */
  readonly note?: string | undefined
}

/** Writes the head of a page. */
export function pageHead({ title, above, badges = [], facts = [], actions = [], note }: PageHead): Html {
  return html`${above && html`<p class="crumbs"><a href="${above.path}">${above.label}</a></p>`}
<div class="head"><div class="head-title"><h1>${breakable(title)}</h1>${badges}${facts.length === 0 ? undefined : html`<div class="head-facts">${facts}</div>`}</div>
${actions.length === 0 ? undefined : html`<div class="actions">${actions}</div>`}</div>
${note === undefined ? undefined : html`<p class="hint">${note}</p>`}`
}

/** How the link to a question looks: what a page is mostly opened for, what cannot be undone, or neither. */
export type AskTone = 'main' | 'plain' | 'danger'

const ASK_CLASSES = { main: 'button primary', plain: 'button', danger: 'button danger-quiet' } as const

/** The header of a request that a page makes by itself: it is no use of the session. */
const POLL_HEADERS = JSON.stringify({ 'X-Trestle-Poll': '1' })

/** The attributes of htmx by which a part of a page is loaded again every two seconds: it shows something in progress. */
export function polled(id: string, path: string): Html {
  return html` hx-get="${path}" hx-trigger="every 2s" hx-select="#${id}" hx-target="#${id}" hx-swap="outerHTML" hx-headers="${POLL_HEADERS}"`
}

/** A link to the question before a change. With script, the question opens in a dialog. */
export function askLink(path: string, label: string, tone: AskTone = 'plain'): Html {
  return html`<a class="${ASK_CLASSES[tone]}" href="${path}" data-ask>${label}</a>`
}

/** A question before a change: it names what will happen. */
export interface Question {
  readonly title: string
  /** The effects of the change, a sentence each. */
  readonly consequences: readonly string[]
  readonly form: Html
}

/** Writes a question, for a page of its own or for the dialog. */
export function questionOf({ title, consequences, form }: Question): Html {
  return html`<div class="question"><h1>${title}</h1>
<ul class="consequences">${consequences.map((each) => html`<li>${each}</li>`)}</ul>
${form}</div>`
}

/** Values by day, drawn as bars. */
export interface DayChart {
  readonly label: string
  /** UTC days in order. */
  readonly days: readonly { readonly date: string; readonly value: number }[]
  readonly tone?: 'bad' | 'second'
  /** Writes a value, such as an amount with its currency. */
  readonly write: (value: number) => string
}

/** The days that a chart shows. */
const DAYS = 30
const DAY_MS = 86_400_000
const WIDTH = 480
const HEIGHT = 96
const GAP = 3

/** The last 30 UTC days in order, the day of `now` last, as `YYYY-MM-DD`. */
export function lastDays(now: Date): readonly string[] {
  return Array.from({ length: DAYS }, (_, at) =>
    new Date(now.getTime() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  )
}

/** Draws values by day, with their sum and the highest. Readers who do not see bars get the sum, and each day by its title. */
export function dayChart({ label, days, tone, write }: DayChart): Html {
  const sum = days.reduce((total, { value }) => total + value, 0)
  const most = Math.max(...days.map(({ value }) => value), 0)
  const step = WIDTH / days.length
  const bars = days.map(({ date, value }, at) => {
    // A day with little is seen too.
    const height = value <= 0 ? 0 : Math.max(2, (value / most) * HEIGHT)
    return html`<rect class="bar${tone === undefined ? '' : ` ${tone}`}" x="${fixed(at * step)}" y="${fixed(HEIGHT - height)}" width="${fixed(step - GAP)}" height="${fixed(height)}" rx="1.5"><title>${date}: ${write(value)}</title></rect>`
  })
  return html`<figure class="day-chart${sum === 0 ? ' none' : ''}"><figcaption><span>${label}</span><strong>${write(sum)}</strong></figcaption>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT + 1}" preserveAspectRatio="none" role="img" aria-label="${label} in the last ${days.length} days: ${write(sum)} in all, ${write(most)} on the highest day"><path class="grid-line" d="M0 ${HEIGHT + 0.5}H${WIDTH}"/>${bars}</svg>
<p class="hint chart-ends"><span>${shortDay(days[0]?.date)}</span><span>${shortDay(days.at(-1)?.date)}</span></p></figure>`
}

/** A UTC day below a chart, such as `28 Oct`. */
function shortDay(date: string | undefined): string {
  if (date === undefined) return ''
  return new Date(date).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

function fixed(number: number): string {
  return number.toFixed(2)
}

/** How many characters and levels of JSON are indented, and how many characters are shown at all. */
const JSON_MAX = { indented: 20_000, levels: 10, shown: 100_000 } as const

/**
 * Writes JSON of others for a page. Each line is indented by its level, so a megabyte that is nested deeply
 * would become a hundred: such a value is written on one line, and a large one is cut.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  const indented = indentedJson(value, text)
  if (indented !== undefined) return indented
  if (text.length <= JSON_MAX.shown) return text
  return `${text.slice(0, JSON_MAX.shown).toWellFormed()}… (the first ${JSON_MAX.shown} of ${text.length} characters)`
}

/**
 * Writes JSON with a line for each member. Undefined where it is long or nested deeply.
 * @param text the value as JSON on one line, where the caller has it
 */
export function indentedJson(value: unknown, text: string = JSON.stringify(value) ?? ''): string | undefined {
  const isShort = text.length <= JSON_MAX.indented && isWithin(value, JSON_MAX.levels)
  return isShort ? JSON.stringify(value, null, 2) : undefined
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1))
}
