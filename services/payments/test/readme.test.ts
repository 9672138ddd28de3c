import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { basic, startPayments, type TestPayments } from './payments-app.ts'

const CreatedApp = z.object({ app: z.object({ key: z.string() }) })
const CreatedMerchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const Transactions = z.array(z.object({ id: z.string() }))

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
/** The curl commands of the first run, as path, Idempotency-Key and body. */
const commands = [
  ...readme.matchAll(
    /^curl .*?'?localhost:8082(\/[^'\n]*?)(?:'| -H|$)(?:.*'idempotency-key: (\w+)')?(?:.*-d '(.*)')?.*$/gm,
  ),
].map(([, url = '', idempotencyKey, body]) => ({ url, idempotencyKey, body }))
const [pageUrl = ''] = /http:\/\/localhost:8082\/pos\S+<public key>[^`]*/.exec(readme) ?? []
const [, card = ''] = /type card `([\d ]+)`/.exec(readme) ?? []

it('every step of the first run succeeds, in the order of the README', async () => {
  const { app } = payments
  const [makeApp, makeMerchant, list, capture, ...others] = commands
  expect(others).toEqual([])
  const made = await app.inject({ method: 'POST', url: String(makeApp?.url) })
  const headers = { ...basic(CreatedApp.parse(made.json()).app.key), 'content-type': 'application/json' }
  const created = await app.inject({
    method: 'POST',
    url: String(makeMerchant?.url),
    headers,
    payload: makeMerchant?.body ?? '',
  })
  const { merchant } = CreatedMerchant.parse(created.json())
  await payOnPage(new URL(pageUrl.replace('<public key>', merchant.key)))
  const listed = await app.inject({ url: String(list?.url).replace('<merchant id>', merchant.id), headers })
  const [transaction] = Transactions.parse(listed.json())
  const captured = await app.inject({
    method: 'POST',
    url: String(capture?.url).replace('<transaction id>', String(transaction?.id)),
    headers: { ...headers, 'idempotency-key': String(capture?.idempotencyKey) },
    payload: capture?.body ?? '',
  })
  expect([made, created, listed, captured].map(({ statusCode }) => statusCode)).toEqual([201, 201, 200, 201])
})

/** Pays by the form of the page, as a browser without scripts. */
async function payOnPage({ pathname, search }: URL): Promise<void> {
  const { body } = await payments.app.inject(pathname + search)
  const page = /name="page" value="([^"]+)"/.exec(body)?.[1] ?? ''
  const form = { link: search.slice(1), page, number: card, expiry: '08/66', code: '111' }
  await payments.app.inject({
    method: 'POST',
    url: '/pos/pay',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
  })
}

it('the quick start takes a payment and gives it back, by curl and by fetch', async () => {
  const document = readFileSync(new URL('../../../docs/quick-start/take-a-payment.md', import.meta.url), 'utf8')
  const known: Record<string, string> = {}
  const fill = (text: string) => text.replaceAll(/<(\w+ \w+)>/g, (_, name: string) => known[name] ?? expect.fail(name))
  const statuses: number[] = []
  for (const [command] of document.matchAll(/^curl .*$/gm)) {
    const [, url = ''] = /localhost:8082([^\s']+)/.exec(fill(command)) ?? []
    if (url.startsWith('/merchants/')) {
      await payOnPage(new URL(fill(/`(http:\S+\/pos\?key=<merchant key>[^`]*)`/.exec(document)?.[1] ?? '')))
    }
    const key = known['app key']
    const [, idempotencyKey] = /-H 'idempotency-key: ([^']+)'/.exec(command) ?? []
    const [, payload] = /-d '(.*)'$/.exec(command) ?? []
    const answer = await payments.app.inject({
      method: payload === undefined && !command.includes('-X POST') ? 'GET' : 'POST',
      url,
      headers: {
        ...(key === undefined ? {} : basic(key)),
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(payload === undefined ? {} : { payload }),
    })
    statuses.push(answer.statusCode)
    Object.assign(known, valuesOf(answer.json()))
  }
  expect(statuses).toEqual([201, 201, 200, 201, 201])
  const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(document) ?? []
  const printed: unknown[] = []
  const send = async (
    url: string,
    { headers, body }: { readonly headers: Record<string, string>; readonly body: string },
  ) => {
    const answer = await payments.app.inject({ method: 'POST', url: new URL(url).pathname, headers, payload: body })
    return { ok: answer.statusCode < 400, status: answer.statusCode, text: async () => answer.body }
  }
  const log = (line: unknown) => printed.push(line)
  await new Function('fetch', 'console', `return (async () => {${fill(code)}})()`)(send, { log })
  expect(printed).toEqual([201])
})

/** The values that later commands of the quick start need. */
function valuesOf(body: unknown): Record<string, string> {
  const app = CreatedApp.safeParse(body).data?.app
  const merchant = CreatedMerchant.safeParse(body).data?.merchant
  const transaction = Transactions.safeParse(body).data?.[0]
  return {
    ...(app && { 'app key': app.key }),
    ...(merchant && { 'merchant id': merchant.id, 'merchant key': merchant.key }),
    ...(transaction && { 'transaction id': transaction.id }),
  }
}
