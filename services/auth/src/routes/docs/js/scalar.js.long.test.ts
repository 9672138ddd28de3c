import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../../../test/auth-app.ts'
import { errorBody } from '../../../../test/bodies.ts'

const open = await openTestApp()
const silent = await openTestApp({ settings: { AUTH_DOCS_ENABLED: 'false' } })
afterAll(() => Promise.all([open.close(), silent.close()]))

const url = '/docs/js/scalar.js'

it('200: GET /docs/js/scalar.js serves the script by default, for ever', async () => {
  const { statusCode, headers, rawPayload } = await open.app.inject(url)
  expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'application/javascript; charset=utf-8',
    'public, max-age=31536000, immutable',
  ])
  expect(rawPayload.length).toBeGreaterThan(1_000_000)
})

it('304: GET /docs/js/scalar.js sends a script again only when it has changed', async () => {
  const { headers } = await open.app.inject(url)
  const again = await open.app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})

// ASVS 13.4.5
it('404: GET /docs/js/scalar.js is not found when the documents are switched off', async () => {
  const answer = await silent.app.inject(url)
  expect([answer.statusCode, answer.json()]).toEqual([404, errorBody(404, 'not_found', 'Not found')])
})
