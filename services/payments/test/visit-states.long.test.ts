import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { drawnFor } from './drawn-arrows.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from './payments-app.ts'

/** A card that pays at once, one whose bank asks the customer, and one that is refused. */
const [PAID, CHALLENGED, REFUSED] = ['1000000000010000', '1000000000000000', '9000000000000000']

let payments: TestPayments
let merchant: { readonly id: string; readonly key?: unknown }
beforeAll(async () => {
  payments = await startPayments()
  merchant = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
})
afterAll(() => payments.close())

type Answer = Awaited<ReturnType<TestPayments['app']['inject']>>

/** A browser under a link. It keeps no script, as a browser that runs none. */
interface Visit {
  page: string
  query: URLSearchParams
  /** The rendering of the card form that the browser shows, or has sent last. */
  pageId: string
  /** The page on which the customer's bank asks. */
  bank: URL | undefined
  readonly cookies: Map<string, string>
}

/** Finds the page of the diagram that an answer shows. */
function pageOf({ headers, body }: Answer): string {
  const location = String(headers.location ?? '')
  if (location.includes('/acs/challenge?')) return 'bank'
  if (location.startsWith('/pos/receipt?')) return 'paid'
  if (body.includes('cc-number')) return 'card'
  if (body.includes('name="amount"')) return 'amount'
  if (body.includes('That took too long.')) return 'late'
  if (body.includes('This payment link does not work')) return 'problem'
  throw new Error(`no page of the diagram: ${body}`)
}

const Cookies = z.array(z.looseObject({ name: z.string(), value: z.string(), maxAge: z.number().optional() }))

/** Takes an answer as a browser does: follows redirects within the pages of links, and keeps cookies. */
async function take(visit: Visit, answer: Answer): Promise<void> {
  for (const { name, value, maxAge } of Cookies.parse(answer.cookies)) {
    if (maxAge === 0) visit.cookies.delete(name)
    else visit.cookies.set(name, value)
  }
  const location = String(answer.headers.location ?? '')
  if (location.startsWith('/pos?')) {
    visit.query = new URLSearchParams(location.slice('/pos?'.length))
    return take(visit, await payments.app.inject(location))
  }
  visit.page = pageOf(answer)
  if (visit.page === 'bank') visit.bank = new URL(location)
  visit.pageId = /name="page" value="([^"]+)"/.exec(answer.body)?.[1] ?? visit.pageId
}

const post = (url: string, form: Readonly<Record<string, string>>) =>
  payments.app.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
  })

type Act = (visit: Visit) => Promise<Answer | undefined>

const open =
  (changes: Readonly<Record<string, string>>): Act =>
  async (visit) => {
    if (visit.page !== 'none') return undefined
    visit.query = new URLSearchParams({ key: String(merchant.key), test: '1', ...changes })
    return payments.app.inject(`/pos?${visit.query}`)
  }
const sendAmount =
  (amount: string): Act =>
  async ({ page, query }) =>
    page === 'amount' ? post('/pos', { link: String(query), amount }) : undefined
const sendCard =
  (number: string): Act =>
  async ({ page, query, pageId }) =>
    ['card', 'bank', 'paid'].includes(page)
      ? post('/pos/pay', { link: String(query), page: pageId, number, expiry: '08/66', code: '111' })
      : undefined
const decide =
  (decision: string): Act =>
  async (visit) => {
    if (visit.page !== 'bank' || !visit.bank) return undefined
    await post(visit.bank.pathname, { state: visit.bank.searchParams.get('state') ?? '', decision })
    return reopen(visit)
  }
const reopen: Act = async ({ page, query, pageId, cookies }) => {
  if (!['none', 'card', 'bank', 'paid'].includes(page)) return undefined
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
  return payments.app.inject({ url: `/pos/pay/${pageId}?${query}`, headers: { cookie } })
}
const reopenElsewhere: Act = (visit) => reopen({ ...visit, cookies: new Map() })
/** Lets something happen while the link names a key that no merchant has. */
const withoutKey =
  (act: Act): Act =>
  async (visit) => {
    const setKey = (key: string) =>
      payments.database.db.updateTable('merchants').set({ key }).where('id', '=', merchant.id).execute()
    await setKey(randomUUID())
    const answer = await act(visit)
    await setKey(String(merchant.key))
    return answer
  }

const EVENTS: Readonly<Record<string, Act>> = {
  'the link is opened': open({ value: '10' }),
  'a link without an amount is opened': open({}),
  'a link to nobody is opened': open({ key: '1' }),
  'an amount is sent': sendAmount('10'),
  'a text that is no amount is sent': sendAmount('x'),
  'a card that pays at once is sent': sendCard(PAID ?? ''),
  'a card whose bank asks is sent': sendCard(CHALLENGED ?? ''),
  'a card that is refused is sent': sendCard(REFUSED ?? ''),
  'the customer approves': decide('approve'),
  'the customer declines': decide('decline'),
  'the page is reopened': reopen,
  'the page is reopened in a browser that has lost the payment': reopenElsewhere,
  'an amount is sent to nobody': withoutKey(sendAmount('10')),
  'a card is sent to nobody': withoutKey(sendCard(PAID ?? '')),
  'the page is reopened, and the link leads to nobody': withoutKey(reopen),
}
const opened = ['the link is opened']
const atBank = [...opened, 'a card whose bank asks is sent']
const WAYS = [
  [],
  ['a link without an amount is opened'],
  opened,
  atBank,
  [...opened, 'a card that pays at once is sent'],
  [...atBank, 'the customer approves'],
]

it('a visit of a payment page goes through the arrows of its diagram, and through no others', async () => {
  const arrows = new Set<string>()
  for (const way of WAYS) {
    for (const event of Object.keys(EVENTS)) {
      const visit: Visit = {
        page: 'none',
        query: new URLSearchParams({ key: String(merchant.key), test: '1', value: '10' }),
        pageId: 'a'.repeat(22),
        bank: undefined,
        cookies: new Map(),
      }
      for (const name of [...way, event]) {
        const from = visit.page
        const answer = await EVENTS[name]?.(visit)
        if (answer) await take(visit, answer)
        if (visit.page !== from) arrows.add(`${from} --> ${visit.page}`)
      }
    }
  }
  // A visit ends where the browser shows nothing more that leads on.
  const drawn = drawnFor('payment-links')[0]?.filter((arrow) => !arrow.endsWith(' --> none'))
  expect([...arrows].sort()).toEqual(drawn)
})
