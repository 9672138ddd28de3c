import { afterAll, describe, expect, it } from 'vitest'
import { OPERATOR } from '../../test/forged-token.ts'
import { openMailApp } from '../../test/mail-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import type { AccessTokenClaims } from '../access-tokens/access-token.ts'

const main = await openMailApp({
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com:8443/auth/v1',
  AUTH_MAILER_EXTERNAL_HOSTS: 'Auth.Example.ORG',
  AUTH_MAILER_URLPATHS_CONFIRMATION: '/welcome?lang=en',
  AUTH_JWT_ALLOWED_AUDIENCES: 'web, mobile',
  AUTH_AUDIT_LOG_DISABLE_POSTGRES: 'true',
})
const { deps, clock } = main
afterAll(() => main.close())

let count = 0
async function signUp(headers: Record<string, string>): Promise<{ readonly aud: string; readonly address: string }> {
  count += 1
  const email = `user${count}@example.com`
  const answer = await main.post('/signup', { email, password: 'correct horse' }, headers)
  const { link } = await main.readMail(email)
  return {
    aud: answer.json().aud,
    address: `${link.origin}${link.pathname}${link.search.split('&token')[0]}`,
  }
}

function bearer(changes: Partial<AccessTokenClaims>) {
  const seconds = Math.floor(clock.now().getTime() / 1_000)
  const claims: AccessTokenClaims = {
    iss: 'x',
    sub: '',
    aud: 'mobile',
    iat: seconds,
    exp: seconds + 60,
    email: '',
    phone: '',
    app_metadata: {},
    user_metadata: {},
    role: 'anon',
    aal: 'aal1',
    amr: [],
    session_id: '',
    is_anonymous: false,
    ...changes,
  }
  return { authorization: `Bearer ${deps.signingKeys.sign(claims)}` }
}

describe('readContext', () => {
  it('builds links only with hosts that the setting lists', async () => {
    const own = 'https://auth.example.com:8443/welcome?lang=en'
    const other = 'https://auth.example.org/welcome?lang=en'
    expect((await signUp({ 'x-forwarded-host': 'auth.example.org' })).address).toBe(other)
    expect((await signUp({ host: 'AUTH.example.org' })).address).toBe(other)
    expect((await signUp({ 'x-forwarded-host': 'evil.test' })).address).toBe(own)
    expect((await signUp({})).address).toBe(own)
  })

  it('takes the audience from X-JWT-AUD, then from a valid access token, then the default', async () => {
    expect((await signUp({ ...bearer({}), 'x-jwt-aud': 'web' })).aud).toBe('web')
    expect((await signUp(bearer({}))).aud).toBe('mobile')
    expect((await signUp(bearer({ role: 'service_role' }))).aud).toBe('authenticated')
    expect((await signUp(bearer({ aud: 'of-a-hook' }))).aud).toBe('authenticated')
    expect((await signUp(bearer({ exp: 1 }))).aud).toBe('authenticated')
    expect((await signUp({ authorization: 'Bearer nonsense' })).aud).toBe('authenticated')
  })

  it('writes no audit entries to the database when the setting is off', async () => {
    expect(await deps.db.selectFrom('audit_log_entries').selectAll().execute()).toEqual([])
  })

  // In tests, a response header that the API document does not list becomes an error 500.
  it.each([
    ['POST /otp', 422, { email: 'unknown@example.com', create_user: false }],
    ['POST /verify', 403, { type: 'signup', token_hash: 'x' }],
    ['GET /authorize?provider=nobody', 400, undefined],
    ['GET /user/identities/authorize?provider=nobody', 404, undefined],
    ['PUT /user', 422, { password: 'short' }],
    ['POST /admin/users', 400, { email: 'nobody' }],
    ['POST /admin/users/0197f7a1-0000-4000-8000-000000000000', 400, { email: 'nobody' }],
    ['POST /admin/generate_link', 404, { type: 'recovery', email: 'unknown@example.com' }],
  ])('names the refused redirect in a failure of %s, with the status %d', async (operation, status, payload) => {
    const [method, path = ''] = operation.split(' ')
    const url = `${path}${path.includes('?') ? '&' : '?'}redirect_to=${encodeURIComponent('https://elsewhere.example/')}`
    const headers = path.startsWith('/admin') ? OPERATOR : (await createSignedIn(main)).headers
    const answer = await main.app.inject({
      method: method === 'GET' ? 'GET' : method === 'PUT' ? 'PUT' : 'POST',
      url,
      headers,
      ...(payload && { payload }),
    })
    expect([answer.statusCode, answer.headers['x-redirect-refused']]).toEqual([status, 'not-listed; source=query'])
  })
})
