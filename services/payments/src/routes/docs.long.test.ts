import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPayments, type TestPayments } from '../../test/payments-app.ts'

/** The levels of log lines that need no action: info and warn. */
const QUIET: readonly unknown[] = [30, 40]
const lines: Record<string, unknown>[] = []
let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ onLog: (line) => lines.push(line) })
})
afterAll(() => payments.close())

describe('GET /docs', () => {
  it('301: redirects to the page', async () => {
    const response = await payments.app.inject('/docs')
    expect([response.statusCode, response.headers.location]).toEqual([301, '/docs/'])
  })

  it('200: shows a page that names no other host', async () => {
    const response = await payments.app.inject('/docs/')
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(response.body).not.toMatch(/https?:\/\//)
  })
})

it.each([
  [200, '/'],
  [301, '/docs'],
  [200, '/docs/'],
  [200, '/docs/js/scalar.js'],
  [200, '/openapi.json'],
  [404, '/metrics'],
])('%i: GET %s logs no error, whichever way a client asks', async (status, url) => {
  lines.length = 0
  const headers = { accept: 'text/html,*/*;q=0.8' }
  const { statusCode, headers: answered } = await payments.app.inject({ url, headers })
  expect(statusCode).toBe(status)
  await payments.app.inject(url)
  await payments.app.inject({ method: 'HEAD', url, headers })
  await payments.app.inject({ url, headers: { ...headers, 'if-none-match': answered.etag ?? '"none"' } })
  // A request for an unknown path is logged as a warning. `/` is unknown for programs, and `/metrics` has its own address.
  expect(lines.map(({ level, msg }) => [msg, QUIET.includes(level)])).toEqual(
    Array.from({ length: 4 }, () => ['request', true]),
  )
})
