/** The price of a euro on a day. */
export interface Rate {
  readonly currency: string
  /** `2026-03-01`. */
  readonly date: string
  readonly source: 'embedded' | 'ecb'
  /** Units of the currency, as decimal text. */
  readonly rate: string
}

type EcbRate = Omit<Rate, 'source'>

const TAG = /<\s*(?:[\w-]+:)?Cube\b([^<>]*)>/g
const ATTRIBUTE = /([\w:-]+)\s*=\s*(?:'([^'<]*)'|"([^"<]*)")/g
const DATE = /^\d{4}-\d{2}-\d{2}$/
/** The numbers that the column can store exactly. */
const RATE = /^\d{1,14}(?:\.\d{1,10})?$/

/**
 * Reads the daily or historical reference rates of the European Central Bank: `<Cube time='2026-03-02'>` around
 * `<Cube currency='USD' rate='1.0838'/>`. Reads only these elements, and expands no entities.
 * @throws Error when the text is another document, or a date or rate cannot be read
 */
export function readEcbRates(xml: string): readonly EcbRate[] {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) throw new Error('a document with a DOCTYPE is not read')
  const rates: EcbRate[] = []
  let date: string | undefined
  for (const [, text = ''] of xml.replaceAll(/<!--.*?-->/gs, '').matchAll(TAG)) {
    const attributes = readAttributes(text)
    date = attributes.get('time') ?? date
    const currency = attributes.get('currency')
    if (currency !== undefined) rates.push(readRate(date, currency, attributes.get('rate')))
  }
  if (rates.length === 0) throw new Error('there are no rates: <Cube time=…><Cube currency=… rate=…/> was expected')
  return rates
}

function readAttributes(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(ATTRIBUTE)].map(([, name = '', a, b]) => [name, a ?? b ?? '']))
}

function readRate(date: string | undefined, currency: string, rate: string | undefined): EcbRate {
  if (date === undefined || !DATE.test(date) || Number.isNaN(Date.parse(date))) {
    throw new Error(`the rate of ${currency} has no date`)
  }
  if (!/^[A-Z]{3}$/.test(currency) || rate === undefined || !RATE.test(rate) || /^[0.]*$/.test(rate)) {
    throw new Error(`the rate of ${currency} on ${date} cannot be read`)
  }
  return { date, currency, rate }
}
