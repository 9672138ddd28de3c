import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody } from '../../test/bodies.ts'

const open = await openTestApp()
const silent = await openTestApp({ settings: { AUTH_DOCS_ENABLED: 'false' } })
afterAll(() => Promise.all([open.close(), silent.close()]))

it('200 and 304: GET /docs/ serves a page by default, which may be cached', async () => {
  const { statusCode, headers, body } = await open.app.inject('/docs/')
  expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/html; charset=utf-8',
    'no-cache',
  ])
  expect(body).toMatch(/^<!doctype html>[\s\S]*<\/html>\s*$/i)
  const again = await open.app.inject({ url: '/docs/', headers: { 'if-none-match': String(headers.etag) } })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})

it('301: GET /docs redirects to the page', async () => {
  const { statusCode, headers, body } = await open.app.inject('/docs')
  expect([statusCode, headers.location, body]).toEqual([301, '/docs/', ''])
})

// ASVS 13.4.5
it('404: GET /docs is not found when the documents are switched off', async () => {
  const answer = await silent.app.inject('/docs')
  expect([answer.statusCode, answer.json()]).toEqual([404, errorBody(404, 'not_found', 'Not found')])
})
