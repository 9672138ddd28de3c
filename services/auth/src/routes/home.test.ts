import { serviceNotFound } from '@trestle/common/documents/front-page.ts'
import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody, statusAndBody } from '../../test/bodies.ts'

const shown = await openTestApp()
const silent = await openTestApp({ settings: { AUTH_DOCS_ENABLED: 'false' } })
afterAll(() => Promise.all([shown.close(), silent.close()]))

const open = (accept: string, { app } = shown) => app.inject({ url: '/?from=mail', headers: { accept } })

it('200: GET / shows a browser a page with links', async () => {
  const { statusCode, headers, body } = await open('text/html,*/*;q=0.8')
  expect([statusCode, headers['content-type'], headers['cache-control'], headers.vary]).toEqual([
    200,
    'text/html; charset=utf-8',
    'no-cache',
    expect.stringMatching(/accept/i),
  ])
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; img-src data:;/)
  expect([...body.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path)).toEqual([
    '/docs',
    '/openapi.json',
    '/health',
    '/ready',
  ])
})

it('404: GET / refuses any other client, and a browser when the documents are switched off', async () => {
  const notFound = errorBody(404, 'not_found', 'Not found')
  expect(statusAndBody(await open('application/json'))).toEqual([404, notFound])
  expect(statusAndBody(await open('*/*'))).toEqual([404, notFound])
  expect(statusAndBody(await open('text/html', silent))).toEqual([404, notFound])
})

it('404: shows a browser a page at an unknown path while the documents are switched on', async () => {
  const openNothing = ({ app }: typeof shown, accept: string) => app.inject({ url: '/nothing', headers: { accept } })
  const page = await openNothing(shown, 'text/html,*/*;q=0.8')
  expect([page.statusCode, page.headers['content-type'], page.body]).toEqual([
    404,
    'text/html; charset=utf-8',
    serviceNotFound.html,
  ])
  const notFound = errorBody(404, 'not_found', 'Not found')
  expect(statusAndBody(await openNothing(shown, 'application/json'))).toEqual([404, notFound])
  expect(statusAndBody(await openNothing(silent, 'text/html'))).toEqual([404, notFound])
})

it('405: no other method than GET or HEAD is known at /', async () => {
  const answer = await shown.app.inject({ method: 'POST', url: '/' })
  expect([...statusAndBody(answer), answer.headers.allow]).toEqual([
    405,
    errorBody(405, 'method_not_allowed', 'Method not allowed'),
    'GET, HEAD',
  ])
})
