import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody, statusAndBody } from '../../test/bodies.ts'
import { REDIRECT_TRICKS, SITE_HOST } from '../../test/redirect-tricks.ts'

const GOOD_HOSTS = new RegExp(
  `^(${SITE_HOST.replaceAll('.', '\\.')}|[a-z0-9-]+\\.preview\\.example\\.com|docs\\.example\\.com)$`,
)

const test = await openTestApp({
  settings: {
    AUTH_SITE_URL: `https://${SITE_HOST}/start`,
    AUTH_URI_ALLOW_LIST:
      'https://*.preview.example.com,https://*.preview.example.com/*,https://docs.example.com/*,https://org.example.com/app/**,myapp://callback',
  },
})
let logFields: unknown
test.app.addHook('onResponse', async (request) => {
  logFields = request.logFields
})
afterAll(() => test.close())

/** Opens a failing link with this `redirect_to`. @returns the redirect of the answer */
async function follow(trick: string) {
  const url = `/verify?type=signup&token=x&redirect_to=${encodeURIComponent(trick)}`
  const answer = await test.app.inject({ method: 'GET', url })
  const [statusCode, body] = statusAndBody(answer)
  const { headers } = answer
  return { statusCode, body, location: headers.location ?? '', refused: headers['x-redirect-refused'] }
}

describe('GET /verify with a trick as redirect_to', () => {
  it('is tried with more than 300 tricks', () => {
    expect(REDIRECT_TRICKS.length).toBeGreaterThan(300)
  })

  it.each(REDIRECT_TRICKS.map((trick) => [JSON.stringify(trick), trick]))(
    'stays on permitted hosts: %s',
    async (_name, trick) => {
      const { statusCode, body, location, refused } = await follow(trick)
      if (trick.includes('\0')) {
        const text = 'Text may not contain NUL characters or lone surrogates'
        expect([statusCode, location, body]).toEqual([400, '', errorBody(400, 'validation_failed', text)])
        return
      }
      expect(statusCode).toBe(303)
      // Only printable header characters, so that every parser reads the same address.
      expect(location).toMatch(/^[!-[\]-~]+$/)
      const target = new URL(location)
      expect(location.startsWith(`${target.protocol}//${target.host}`)).toBe(true)
      if (target.protocol === 'myapp:') expect(target.host).toBe('callback')
      else {
        expect(target.protocol).toBe('https:')
        expect(target.hostname).toMatch(GOOD_HOSTS)
        expect(target.username + target.password).toBe('')
      }
      const start = `https://${SITE_HOST}/start`
      if (refused !== undefined) expect(location.slice(0, start.length)).toBe(start)
    },
  )

  it.each(['../attacker', '%2e%2e/attacker', 'x/..%2f..%2fattacker', '.%2E/attacker'])(
    '303: stays on a listed path with %s',
    async (steps) => {
      const { location, refused } = await follow(`https://org.example.com/app/${steps}`)
      expect(new URL(location).hostname).toBe(SITE_HOST)
      expect(refused).toBe('dot-segments; source=query')
    },
  )

  it('303: names the rule that refuses in the answer and the log', async () => {
    expect((await follow('https://evil.test:8443/?token=secret')).refused).toBe('not-listed; source=query')
    expect(logFields).toEqual({
      remote_addr: '127.0.0.1',
      redirect_refused: 'not-listed',
      redirect_source: 'query',
      redirect_host: 'evil.test:8443',
    })
  })
})
