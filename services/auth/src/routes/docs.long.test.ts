import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody } from '../../test/bodies.ts'

/** Log levels that need no action by the operator. */
const QUIET = ['info', 'warn']
const folder = mkdtempSync(join(tmpdir(), 'docs-'))
const log = createLogger({ level: 'debug', file: join(folder, 'log'), stdout: false })
const open = await openTestApp({ logger: log.logger })
const silent = await openTestApp({ settings: { AUTH_DOCS_ENABLED: 'false' } })
afterAll(async () => {
  await Promise.all([open.close(), silent.close()])
  rmSync(folder, { recursive: true })
})

it('200: GET /docs/ serves a page by default', async () => {
  const { statusCode, headers, body } = await open.app.inject('/docs/')
  expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/html; charset=utf-8',
    'no-cache',
  ])
  expect(body).toMatch(/^<!doctype html>[\s\S]*<\/html>\s*$/i)
})

it('304: GET /docs/ sends the page again only when it has changed', async () => {
  const { headers } = await open.app.inject('/docs/')
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

it.each([
  [200, '/'],
  [301, '/docs'],
  [200, '/docs/'],
  [200, '/docs/js/scalar.js'],
  [200, '/openapi.json'],
  [404, '/metrics'],
])('%i: GET %s logs no error, whichever way a client asks', async (status, url) => {
  const before = (await logLines()).length
  const headers = { accept: 'text/html,*/*;q=0.8' }
  const { statusCode, headers: answered } = await open.app.inject({ url, headers })
  expect(statusCode).toBe(status)
  await open.app.inject(url)
  await open.app.inject({ method: 'HEAD', url, headers })
  await open.app.inject({ url, headers: { ...headers, 'if-none-match': answered.etag ?? '"none"' } })
  const lines = (await logLines()).slice(before)
  // Unknown paths log warnings: `/` for programs, and `/metrics`, which has a separate address.
  expect(lines.map(({ level, msg }) => [msg, QUIET.includes(level)])).toEqual(
    Array.from({ length: 4 }, () => ['request', true]),
  )
})

const Line = z.object({ level: z.string(), msg: z.string() })

async function logLines() {
  await log.flush()
  const text = readFileSync(join(folder, 'log'), 'utf8')
  return text.split('\n').flatMap((line) => (line === '' ? [] : [Line.parse(JSON.parse(line))]))
}
