import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody, grantErrorBody, statusAndBody } from '../bodies.ts'
import { createSignedIn, type SignedIn } from '../signed-in.ts'
import { type CustomApp, claimsText, oidc, openCustomApp } from './custom-app.ts'
import { signText } from './provider-stub.ts'

// These users must not be reachable by an app's id_token: SSO users, and operators with a custom provider.
const NONCE = 'the nonce of the app'
const NO_OPERATOR = 'Only operators act on a user with a console role'
const NO_IDENTITY = [
  422,
  grantErrorBody('invalid_request', 'validation_failed', 'SSO users cannot link identities', 422),
]

describe.each(['compatible', 'strict', 'supabase'])('the id_token grant, AUTH_PROFILE=%s', (profile) => {
  let service: CustomApp
  let owner: SignedIn
  beforeAll(async () => {
    service = await openCustomApp({
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_URI_ALLOW_LIST: 'https://app.example.com/home',
    })
    service.play({})
    await service.add(oidc('custom:idp'))
  })
  afterAll(() => service.close())
  beforeEach(async () => {
    owner = await createSignedIn(service)
  })

  const refusal = (code: string, text: string) => [
    403,
    profile === 'supabase' ? errorBody(403, code, text) : grantErrorBody('invalid_request', code, text, 403),
  ]
  const linkRefusal =
    profile === 'supabase'
      ? [422, errorBody(422, 'validation_failed', 'SSO users cannot link identities')]
      : NO_IDENTITY

  /** Sends an id_token of the custom provider with the owner's email. */
  async function grant(subject: string, more: object = {}, headers: Record<string, string> = {}) {
    const nonce = createHash('sha256').update(NONCE).digest('hex')
    const claims = JSON.stringify({ sub: subject, email: owner.email, email_verified: true, nonce })
    const id_token = await signText(claimsText(service.clock.now(), claims))
    return service.post(
      '/token?grant_type=id_token',
      { provider: 'custom:idp', id_token, nonce: NONCE, ...more },
      headers,
    )
  }
  const mark = (columns: { is_sso_user?: boolean; console_role?: string }) =>
    service.deps.db.updateTable('users').set(columns).where('id', '=', owner.user.id).execute()
  const accounts = async () => {
    const query = service.deps.db.selectFrom('identities').select('provider_id')
    const rows = await query.where('user_id', '=', owner.user.id).where('provider', '<>', 'email').execute()
    return rows.map(({ provider_id }) => provider_id)
  }
  let people = 0
  const nextSubject = () => `${profile}-${++people}`

  it('makes another user in place of an SSO user with the address', async () => {
    await mark({ is_sso_user: true })
    const answer = await grant(nextSubject())
    expect(answer.statusCode).toBe(200)
    expect(answer.json().user.id).not.toBe(owner.user.id)
    expect(await accounts()).toEqual([])
  })

  it('links nothing to an SSO user', async () => {
    await mark({ is_sso_user: true })
    expect(statusAndBody(await grant(nextSubject(), { link_identity: true }, owner.headers))).toEqual(linkRefusal)
    expect(await accounts()).toEqual([])
  })

  it('signs an SSO user in by an account that was linked before', async () => {
    const subject = nextSubject()
    await grant(subject)
    await mark({ is_sso_user: true })
    expect((await grant(subject)).json().user.id).toBe(owner.user.id)
    expect(await accounts()).toEqual([subject])
  })

  it('gives the custom provider no operator by the address', async () => {
    await mark({ console_role: 'admin' })
    expect(statusAndBody(await grant(nextSubject()))).toEqual(refusal('console_user_protected', NO_OPERATOR))
    expect(await accounts()).toEqual([])
  })

  it('gives the custom provider no operator by an account that was linked before', async () => {
    const subject = nextSubject()
    await grant(subject)
    await mark({ console_role: 'admin' })
    expect(statusAndBody(await grant(subject))).toEqual(refusal('console_user_protected', NO_OPERATOR))
  })

  it('links nothing at the custom provider to an operator', async () => {
    await mark({ console_role: 'admin' })
    const answer = await grant(nextSubject(), { link_identity: true }, owner.headers)
    expect(statusAndBody(answer)).toEqual(refusal('console_user_protected', NO_OPERATOR))
    expect(await accounts()).toEqual([])
  })
})
