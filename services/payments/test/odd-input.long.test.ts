import { anyUuid } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { customerPayment } from './customer-payment.ts'
import { capture } from './operations.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments, UNKNOWN_ID } from './payments-app.ts'

// Run more with ODD_REQUESTS=20000 npx vitest run services/payments/test/odd-input.long.test.ts
const numRuns = Number(process.env.ODD_REQUESTS ?? 600)

let payments: TestPayments
/** Ids of the caller's own objects, of a stranger's, and malformed ones. */
let ids: string[]
let keys: string[]
/** Requests for each path. */
let paths: [string, object][]
beforeAll(async () => {
  payments = await startPayments()
  // Pages answer HTML, and clients keep the API document.
  paths = Object.entries((await payments.app.describeApi()).paths ?? {}).filter(
    ([path]) => !/^\/(?:$|pos|acs|invitations|assets|docs|openapi)/.test(path),
  )
  const [member, stranger] = [await createTestApp(payments), await createTestApp(payments)]
  ids = [member.id, UNKNOWN_ID, 'x', '%00', '%zz', '%F0%9F%92%A9', '0'.repeat(24), '']
  for (const app of [member, stranger]) {
    const { id } = await createTestMerchant(payments, app, { test: true, bank: { iban: 'DK5000400440116243' } })
    const transactionId = await customerPayment(payments, id, { amount: 900_000 })
    await capture(payments, app, transactionId, 500_000)
    const post = async (url: string, payload: object) =>
      (await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })).json()
    const { dispute } = await post(`/test/transactions/${transactionId}/disputes`, { amount: 100 })
    const { fraud } = await post(`/test/transactions/${transactionId}/frauds`, {})
    const { card } = await post(`/merchants/${id}/cards`, { transactionId })
    ids.push(id, transactionId, transactionId.toUpperCase(), dispute.id, fraud.id, card.id)
  }
  keys = [member.key, member.key, member.key, stranger.key, 'unknown', '', '\u{1f4a9}']
})
afterAll(() => payments.close())

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'] as const
const NAMES = [
  'amount',
  'currency',
  'descriptor',
  'reference',
  'transactionId',
  'authorizationId',
  'cardId',
  'custom',
  'name',
  'email',
  'website',
  'company',
  'country',
  'number',
  'bank',
  'iban',
  'test',
  'url',
  'events',
  'appId',
  'notes',
  'outcome',
  'reason',
  'code',
  'reported',
  'advance',
  'limit',
  'before',
  'after',
  'filter',
  'merchantId',
  'from',
  'to',
  'successful',
  '__proto__',
  'constructor',
  'toString',
  '',
  'a[b',
  '0',
]
const TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  '1',
  '10',
  '0995',
  '1e3',
  '9.95',
  '9007199254740993',
  '99999999999999999999',
  'yes',
  'true',
  '\0',
  '\ud800',
  '\u{1f4a9}',
  'x'.repeat(300),
  "'; DROP TABLE lines; --",
  'EUR',
  'DKK',
  'KWD',
  'XXX',
  'eur',
  'DK',
  '2026-03-01',
  '2026-02-30',
  '0000-01-01',
  '9999-12-31',
  '1969-12-31',
  '2026-03-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999+14:00',
  '2026-12-31T23:59:60Z',
  'john@example.com',
  'a@b',
  'https://example.com/hook',
  'http://127.0.0.1:8080',
  'https://[::1]:8443/',
  'https://u:p@example.com',
  'file:///etc/passwd',
  'won',
  'lost',
  'transaction.captured',
  'DK5000400440116243',
  'Coffee & John',
  '%zz',
  '[]',
  '{}',
]
/** `1e400` exceeds the range of numbers, so it is put into the JSON as text. */
const HUGE = '1e400'
const leaf = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1, 100, 1.5, 2 ** 53, 1e300, 999_999_999_999, HUGE),
  fc.nat(30).map((which) => ids[which % ids.length] ?? ''),
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 4 }),
  ),
}))
const body = fc.dictionary(fc.constantFrom(...NAMES), fc.oneof({ weight: 4, arbitrary: leaf }, value), { maxKeys: 8 })
const request = fc.record({
  route: fc.nat(),
  method: fc.option(fc.constantFrom(...METHODS), { nil: undefined, freq: 8 }),
  places: fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
  ending: fc.constantFrom('', '', '', '/', '//', '%2f'),
  key: fc.nat(),
  body: fc.oneof({ weight: 6, arbitrary: body }, { weight: 1, arbitrary: value }),
  type: fc.constantFrom(
    ...['application/json', 'application/json', 'application/vnd.api+json', 'application/x-www-form-urlencoded'],
    ...['application/json; charset=latin1', 'text/plain', 'x', undefined],
  ),
  query: body,
  idempotencyKey: fc.constantFrom(undefined, undefined, 'a', 'b', '', 'with space', 'x'.repeat(256), 'é'),
})
type OddRequest = typeof request extends fc.Arbitrary<infer Value> ? Value : never

/** Values with brackets, as in forms and queries. */
function pairs(prefix: string, field: unknown): string[] {
  if (typeof field !== 'object' || field === null) return [`${encode(prefix)}=${encode(String(field ?? ''))}`]
  return Object.entries(field).flatMap(([name, each]) => pairs(prefix === '' ? name : `${prefix}[${name}]`, each))
}
const encode = (text: string) => (text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80')

function send({ route, method, places, ending, key, body, type, query, idempotencyKey }: OddRequest) {
  const [path = '', operations = {}] = paths[route % paths.length] ?? []
  const declared = Object.keys(operations)
  const rest = [...places]
  const url = path.replaceAll(/\{\w+\}/g, () => ids[(rest.pop() ?? 0) % ids.length] ?? '')
  const isForm = type === 'application/x-www-form-urlencoded'
  const headers = {
    authorization: `Basic ${Buffer.from(`:${keys[key % keys.length]}`).toString('base64')}`,
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  }
  const verb = method ?? METHODS.find((each) => each.toLowerCase() === declared[route % declared.length]) ?? 'GET'
  const payload = isForm ? pairs('', body).join('&') : JSON.stringify(body)?.replaceAll(`"${HUGE}"`, HUGE)
  const sent = { method: verb, url: `${url}${ending}?${pairs('', query).join('&')}`, headers }
  return payments.app.inject(verb === 'GET' || verb === 'HEAD' ? sent : { ...sent, payload: payload ?? '' })
}

const CODES = /^(REQUIRED|TYPE|FORMAT|RANGE|IMMUTABLE|UNKNOWN|LIMIT_EXCEEDED|MISMATCH|DUPLICATE)$/
const isFieldErrors = (content: unknown) =>
  Array.isArray(content) &&
  content.length > 0 &&
  content.every(({ field, message, code }) => field && message && CODES.test(code))

const ErrorBody = z.looseObject({ code: z.unknown().optional(), message: z.unknown().optional() })
type ErrorBody = z.output<typeof ErrorBody>

/**
 * The bodies of errors: field errors, a processing error, or a code. Errors of the checkout always have a code, and may
 * have more fields.
 */
function isError(content: unknown, { status, path }: { readonly status: number; readonly path: string }): boolean {
  const { code, message, ...more }: ErrorBody = ErrorBody.safeParse(content).data ?? {}
  const isCode = typeof code === 'string' && typeof message === 'string'
  if (/^\/(vault|payments)\b/.test(path)) return isCode
  if (status === 400) return isFieldErrors(content) || typeof code === 'number'
  return isCode && Object.keys(more).length === 0
}

it('answers any request in its own envelope, and never with 500', async () => {
  await fc.assert(
    fc.asyncProperty(request, async (odd) => {
      const answer = await send(odd)
      const { statusCode: status, headers, body: text } = answer
      const what = `${answer.raw.req.method} ${answer.raw.req.url}: ${status} ${text.slice(0, 300)}`
      expect(status, what).toBeLessThan(500)
      expect([headers['x-request-id'], headers['cache-control']], what).toEqual([anyUuid, 'no-store'])
      if (status === 204) expect(text, what).toBe('')
      if (status >= 400) expect(headers['x-status-code'], what).toMatch(/^[A-Z_]+$/)
      if (text === '' || headers['content-type']?.toString().startsWith('text/csv')) return
      expect([headers['content-type'], text.at(-1)], what).toEqual(['application/json; charset=utf-8', '\n'])
      const content = JSON.parse(text)
      if (status >= 400) expect(isError(content, { status, path: answer.raw.req.url ?? '' }), what).toBe(true)
    }),
    { numRuns, ...(process.env.ODD_SEED === undefined ? {} : { seed: Number(process.env.ODD_SEED) }) },
  )
}, 600_000)
