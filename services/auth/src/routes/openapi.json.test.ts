import { afterAll, expect, it } from 'vitest'
import committed from '../../../../docs/openapi/auth.json' with { type: 'json' }
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody } from '../../test/bodies.ts'

const open = await openTestApp()
const silent = await openTestApp({ settings: { AUTH_DOCS_ENABLED: 'false' } })
afterAll(() => Promise.all([open.close(), silent.close()]))

it('200: GET /openapi.json serves the API document of the repository by default', async () => {
  const answer = await open.app.inject('/openapi.json')
  expect([answer.statusCode, answer.headers['cache-control'], answer.json()]).toEqual([200, 'no-cache', committed])
})

it('304: GET /openapi.json sends the document again only when it has changed, with the headers that it describes', async () => {
  const answer = await open.app.inject('/openapi.json')
  const condition = { 'if-none-match': String(answer.headers.etag) }
  const again = await open.app.inject({ url: '/openapi.json', headers: condition })
  expect([again.statusCode, again.body]).toEqual([304, ''])
  const { parameters, responses } = committed.paths['/openapi.json'].get
  expect(parameters.map(({ name }) => name)).toEqual(['If-None-Match'])
  expect(Object.keys(responses[304].headers)).toEqual(['X-Request-Id', 'ETag'])
  expect(['x-request-id', 'etag'].filter((name) => name in again.headers)).toEqual(['x-request-id', 'etag'])
})

// ASVS 13.4.5
it('404: GET /openapi.json is not found when the documents are switched off', async () => {
  const answer = await silent.app.inject('/openapi.json')
  expect([answer.statusCode, answer.json()]).toEqual([404, errorBody(404, 'not_found', 'Not found')])
})
