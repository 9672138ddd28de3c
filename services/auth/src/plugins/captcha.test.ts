import { HttpError } from '@trestle/common/errors/define-error.ts'
import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { type StubAnswer, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { loadAuthConfig } from '../config.ts'
import { verifyCaptcha } from './captcha.ts'

let answer: StubAnswer | undefined
const provider = await startStubProvider(() => answer)
afterAll(() => provider.close())

function load(settings: Record<string, string> = {}) {
  const config = loadAuthConfig({
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DATABASE_URL: 'postgres://localhost/x',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
    AUTH_SECURITY_CAPTCHA_SECRET: 'captcha secret',
    ...settings,
  })
  if (!config.security.captcha) throw new Error('captcha is off')
  return config.security.captcha
}

const verify = (token: string | undefined, settings: Record<string, string> = {}) =>
  verifyCaptcha(createOutbound([]), load({ AUTH_SECURITY_CAPTCHA_URL: provider.url, ...settings }), token, '8.8.8.8')
const refused = (codes: string) =>
  new HttpError(400, 'captcha_failed', { message: `captcha protection: request disallowed (${codes})` })
const broken = new HttpError(500, 'unexpected_failure', { message: 'captcha verification process failed' })

describe('verifyCaptcha', () => {
  it.each([
    ['hcaptcha', 'https://hcaptcha.com/siteverify'],
    ['turnstile', 'https://challenges.cloudflare.com/turnstile/v0/siteverify'],
  ])('asks %s at %s', (name, url) => {
    expect(load({ AUTH_SECURITY_CAPTCHA_PROVIDER: name }).url).toBe(url)
  })

  it.each([
    { success: true, challenge_ts: '2026-01-02T03:04:05.000Z', hostname: 'app.example.com', credit: false },
    { success: true, 'error-codes': [], hostname: 'app.example.com', action: 'login', cdata: '' },
  ])('accepts %j', async (body) => {
    answer = { body }
    await verify('a token')
    const { headers, ...request } = provider.requests.at(-1) ?? {}
    expect(headers?.['content-type']).toBe('application/x-www-form-urlencoded')
    expect(request).toEqual({
      method: 'POST',
      url: '/',
      body: 'secret=captcha+secret&response=a+token&remoteip=8.8.8.8',
    })
  })

  it.each([
    [{ body: { success: false, 'error-codes': ['invalid-input-response'] } }, refused('invalid-input-response')],
    [{ body: { success: false, 'error-codes': ['a', 'b'] } }, refused('a, b')],
    [
      { status: 400, body: { success: false, 'error-codes': ['timeout-or-duplicate'] } },
      refused('timeout-or-duplicate'),
    ],
    [{ body: { success: false } }, refused('')],
    [{ body: { success: 'true' } }, broken],
    [{ body: 'true' }, broken],
    [{ body: '<html>' }, broken],
    [{ status: 302, headers: { location: '/' }, body: { success: true } }, broken],
    [{ status: 503, body: { success: true } }, broken],
  ])('refuses %j', async (given, error) => {
    answer = given
    const asked = provider.requests.length
    await expect(verify('a token')).rejects.toEqual(error)
    expect(provider.requests.length - asked).toBe(1)
  })

  it.each([undefined, ''])('refuses %j without asking the provider', async (token) => {
    const asked = provider.requests.length
    await expect(verify(token)).rejects.toEqual(refused('no captcha_token found'))
    expect(provider.requests).toHaveLength(asked)
  })

  it('waits no longer than SECURITY_CAPTCHA_TIMEOUT', async () => {
    answer = undefined
    await expect(verify('a token', { AUTH_SECURITY_CAPTCHA_TIMEOUT: '50ms' })).rejects.toEqual(broken)
  })
})
