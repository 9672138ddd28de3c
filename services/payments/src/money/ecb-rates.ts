import { z } from 'zod'

/** The price of a euro on a day. */
export interface Rate {
  readonly currency: string
  /** For example, `2026-03-01`. */
  readonly date: string
  readonly source: 'embedded' | 'ecb'
  /** Units of the currency for one euro, as decimal text. */
  readonly rate: string
}

type EcbRate = Omit<Rate, 'source'>

const TAG = /<\s*(?:[\w-]+:)?Cube\b([^<>]*)>/g
/** A match must begin at the start of a name. Otherwise the expression would scan a long name again from each of its letters. */
const ATTRIBUTE = /(?<![\w:-])([\w:-]+)\s*=\s*(?:'([^'<]*)'|"([^"<]*)")/g
const Day = z.iso.date()
/** The maximum number of characters of a `Cube` that an error message shows. */
const SHOWN_MAX = 100
/** The numbers that the column `rate` stores exactly. */
const RATE = /^\d{1,14}(?:\.\d{1,10})?$/

/**
 * Reads the daily or historical reference rates of the European Central Bank, as XML or CSV. XML has `<Cube time='2026-03-02'>`
 * around `<Cube currency='USD' rate='1.0838'/>`. CSV has rows below the header `Date,USD,…`. The function reads only these
 * elements and expands no entities.
 * @throws Error if the text is another document, a date or rate is invalid, or a currency has two rates for one day
 */
export function readEcbRates(text: string): readonly EcbRate[] {
  const document = text.replace(/^\ufeff/, '')
  const rates = /^\s*Date\s*,/i.test(document) ? readTable(document) : readXml(document)
  if (rates.length === 0)
    throw new Error('there are no rates: <Cube time=…><Cube currency=… rate=…/> or rows below Date,USD,… were expected')
  refuseSecondRates(rates)
  return rates
}

function refuseSecondRates(rates: readonly EcbRate[]): void {
  const seen = new Set<string>()
  for (const { date, currency } of rates) {
    const key = `${currency} on ${date}`
    if (seen.has(key)) throw new Error(`the rate of ${key} is given twice`)
    seen.add(key)
  }
}

/** Reads the CSV form. Each row is a day, each column is a currency, and each line ends with a comma. A missing rate is `N/A`. */
function readTable(text: string): readonly EcbRate[] {
  const [header = [], ...rows] = text
    .trim()
    .split(/\r\n?|\n/)
    .map((line) => line.split(',').map((cell) => cell.trim()))
  return rows.flatMap(([day = '', ...cells]) =>
    cells.flatMap((cell, at) =>
      cell === '' || cell === 'N/A' ? [] : [readRate(toIsoDate(day), header[at + 1] ?? '', cell)],
    ),
  )
}

/** The daily table contains dates like `2 March 2026`, and the historical table dates like `2026-03-02`. */
function toIsoDate(day: string): string {
  const moment = new Date(`${day} UTC`)
  return /^\d{1,2} [A-Z][a-z]+ \d{4}$/.test(day) && !Number.isNaN(moment.getTime())
    ? moment.toISOString().slice(0, 10)
    : day
}

function readXml(xml: string): readonly EcbRate[] {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) throw new Error('a document with a DOCTYPE is not read')
  const rates: EcbRate[] = []
  let date: string | undefined
  for (const [, text = ''] of withoutComments(xml).matchAll(TAG)) {
    const attributes = readAttributes(text)
    date = attributes.get('time') ?? date
    const currency = attributes.get('currency')
    if (currency !== undefined) rates.push(readRate(date, currency, attributes.get('rate')))
  }
  return rates
}

/**
 * Removes comments. A regular expression would scan to the end of the document from each `<!--`, which takes quadratic time.
 * @throws Error if a comment does not end
 */
function withoutComments(xml: string): string {
  const kept: string[] = []
  let at = 0
  for (let begin = xml.indexOf('<!--'); begin >= 0; begin = xml.indexOf('<!--', at)) {
    const end = xml.indexOf('-->', begin + '<!--'.length)
    if (end < 0) throw new Error('a comment does not end')
    kept.push(xml.slice(at, begin))
    at = end + '-->'.length
  }
  return kept.join('') + xml.slice(at)
}

function readAttributes(text: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>()
  for (const [, name = '', a, b] of text.matchAll(ATTRIBUTE)) {
    if (attributes.has(name)) throw new Error(`<Cube${text.slice(0, SHOWN_MAX)}> has the attribute ${name} twice`)
    attributes.set(name, a ?? b ?? '')
  }
  return attributes
}

function readRate(date: string | undefined, currency: string, rate: string | undefined): EcbRate {
  if (date === undefined || !Day.safeParse(date).success) throw new Error(`the rate of ${currency} has no date`)
  if (currency === 'EUR') throw new Error(`the rate of EUR on ${date} is always 1, so no file has one`)
  if (!/^[A-Z]{3}$/.test(currency) || rate === undefined || !RATE.test(rate) || /^[0.]*$/.test(rate)) {
    throw new Error(`the rate of ${currency} on ${date} cannot be read`)
  }
  return { date, currency, rate }
}
