import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody, grantErrorBody, outcomeOf, statusAndBody } from '../bodies.ts'
import { createSignedIn, type SignedIn } from '../signed-in.ts'
import { type CustomApp, oauth2, openCustomApp } from './custom-app.ts'
import { CODE } from './provider-stub.ts'

// Tests an attack: a thief of an operator's session links their own account, and waits until the operator loses the role.
const TEXT = 'Only operators act on a user with a console role'
const VERIFIER = 'v'.repeat(43)
const URL_OF_LINKING = `/user/identities/authorize?${new URLSearchParams({
  provider: 'custom:plain',
  skip_http_redirect: 'true',
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 's256',
})}`

describe.each(['compatible', 'strict', 'supabase'])('an operator, AUTH_PROFILE=%s', (profile) => {
  let service: CustomApp
  let operator: SignedIn
  beforeAll(async () => {
    service = await openCustomApp({
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_URI_ALLOW_LIST: 'https://app.example.com/home',
    })
    service.play({ userinfo: { id: 'thief', email: 'thief@example.com', email_verified: true } })
    await service.add(oauth2('custom:plain'))
  })
  afterAll(() => service.close())
  beforeEach(async () => {
    operator = await createSignedIn(service)
  })

  const begin = () => service.app.inject({ url: URL_OF_LINKING, headers: operator.headers })
  const comeBack = async (meanwhile = async () => {}) => {
    const { searchParams: asked } = new URL((await begin()).json().url)
    await meanwhile()
    const { pathname } = new URL(asked.get('redirect_uri') ?? '')
    return (await service.comeBack({ state: asked.get('state') ?? '', code: CODE }, pathname)).query
  }
  const promote = async () => {
    const change = service.deps.db.updateTable('users').set({ console_role: 'admin' })
    await change.where('id', '=', operator.user.id).execute()
  }
  const subjects = async () => (await service.identities()).map(({ provider_id }) => provider_id)

  it('403: begins no linking at a custom provider', async () => {
    await promote()
    expect(statusAndBody(await begin())).toEqual([403, errorBody(403, 'console_user_protected', TEXT)])
  })

  it('302: links nothing at the return of a user who became an operator meanwhile', async () => {
    expect(await comeBack(promote)).toEqual({
      error: 'access_denied',
      error_code: 'console_user_protected',
      error_description: TEXT,
    })
    expect(await subjects()).not.toContain('thief')
  })

  it('403: links nothing at an exchange where that links, after its user became an operator', async () => {
    const { code } = await comeBack()
    await promote()
    const answer = await service.post('/token?grant_type=pkce', { auth_code: code, code_verifier: VERIFIER })
    const refused = [403, grantErrorBody('invalid_request', 'console_user_protected', TEXT, 403)]
    expect(outcomeOf(answer)).toEqual(profile === 'strict' ? refused : 200)
    expect((await subjects()).includes('thief')).toBe(profile !== 'strict')
  })
})
