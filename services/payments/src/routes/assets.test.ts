import { readFileSync } from 'node:fs'
import { PAGE_STYLE } from '@trestle/common/documents/page-style.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBodies } from '../../test/bodies.ts'
import { startPayments, type TestPayments } from '../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const load = (name: string) => payments.app.inject({ url: `/assets/${name}` })

describe('GET /assets/:name', () => {
  // ASVS 13.4.3
  it.each([
    ['page.css', 'text/css; charset=utf-8'],
    ['pay.css', 'text/css; charset=utf-8'],
    ['approval.css', 'text/css; charset=utf-8'],
    ['bank.css', 'text/css; charset=utf-8'],
    ['conclude.js', 'text/javascript; charset=utf-8'],
    ['leave.js', 'text/javascript; charset=utf-8'],
    ['pay.js', 'text/javascript; charset=utf-8'],
    ['print.js', 'text/javascript; charset=utf-8'],
    ['read-card.js', 'text/javascript; charset=utf-8'],
  ])('200: serves the whole file %s as %s', async (name, type) => {
    const response = await load(name)
    const text = readFileSync(new URL(`../pages/assets/${name}`, import.meta.url), 'utf8')
    expect([response.statusCode, response.headers['content-type'], response.body]).toEqual([
      200,
      type,
      (name === 'page.css' ? PAGE_STYLE : '') + text,
    ])
  })

  it.each(['page.css', 'pay.css', 'approval.css', 'bank.css'])(
    '200: serves styles in %s that load nothing else',
    async (name) => {
      const { statusCode, body } = await load(name)
      expect([statusCode, body]).toEqual([200, expect.not.stringMatching(/url\(|@import/)])
    },
  )

  it.each(['other.js', '..%2fassets.ts', 'page.css%00'])('404: serves no other file, such as %s', async (name) => {
    const response = await load(name)
    expect([response.statusCode, response.json()]).toEqual([404, errorBodies.endpointNotFound])
  })
})
