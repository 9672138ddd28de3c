import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from './auth-app.ts'

const open = await openTestApp()
const silent = await openTestApp({ settings: { AUTH_DOCS_ENABLED: 'false' } })
afterAll(() => Promise.all([open.close(), silent.close()]))

describe('AUTH_DOCS_ENABLED', () => {
  it.each(['/openapi.json', '/docs/'])('200: GET %s is served by default and may be cached', async (url) => {
    const { statusCode, headers } = await open.app.inject(url)
    expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache'])
    expect((await open.app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })).statusCode).toBe(304)
  })

  // ASVS 13.4.5
  it.each(['/openapi.json', '/docs', '/docs/js/scalar.js'])(
    '404: GET %s is not found when the documents are switched off',
    async (url) => {
      expect((await silent.app.inject(url)).statusCode).toBe(404)
    },
  )
})
