import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'

let test: TestConsole
beforeAll(async () => {
  test = await openTestConsole([{ name: 'auth', url: 'http://127.0.0.1:1' }])
})
afterAll(() => test.close())

describe('GET /assets/:name', () => {
  it.each([
    ['console.css', 'text/css; charset=utf-8', ':root {'],
    ['console.js', 'text/javascript; charset=utf-8', 'const TOAST_MS = '],
    ['htmx.js', 'text/javascript; charset=utf-8', 'var htmx='],
  ])('200: serves %s, which a browser keeps until it changes', async (name, type, start) => {
    const answer = await test.app.inject(`/assets/${name}`)
    expect(answer.headers).toEqual({
      'cache-control': 'no-cache',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'content-type': type,
      'content-length': String(answer.rawPayload.length),
      etag: expect.any(String),
      vary: 'accept-encoding',
      'x-request-id': expect.any(String),
      date: expect.any(String),
      connection: 'keep-alive',
    })
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toContain(start)
    const again = await test.app.inject({
      url: `/assets/${name}`,
      headers: { 'if-none-match': String(answer.headers.etag) },
    })
    expect([again.statusCode, again.body]).toEqual([304, ''])
  })

  it.each(['other.js', '..%2fassets.ts', 'console.css%00'])('404: serves no other file, such as %s', async (name) => {
    const answer = await test.app.inject(`/assets/${name}`)
    expect([answer.statusCode, answer.json()]).toEqual([
      404,
      { code: 'page_not_found', message: 'There is no such page' },
    ])
  })
})
