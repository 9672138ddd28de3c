import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, describe, expect, it } from 'vitest'
import { UnverifiableTokenError } from './operator.ts'
import { createOperatorTokens } from './operator-token.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const [published, foreign] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')]
const jwks = { keys: [{ ...(await exportJWK(published.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] }
let answer: { readonly status: number; readonly body?: object } = { status: 200, body: jwks }
const auth = await startStubProvider(() => answer)
afterAll(() => auth.close())

const SECRET = 's'.repeat(32)
const ISSUER = 'https://auth.example'
const ANN = { id: '7d1f7c7e-6a53-4b51-b1c7-8a2b0a4f8a01', email: 'ann@example.com', role: 'support' }
const claims: JWTPayload = {
  sub: ANN.id,
  session_id: '0f0a4f8a-6a53-4b51-b1c7-8a2b0a4f8a02',
  email: ANN.email,
  aal: 'aal2',
  app_metadata: { console_role: 'support' },
}
const sign = (payload: JWTPayload, expires: Date | null = new Date(NOW.getTime() + 3_600_000)) => {
  const token = new SignJWT({ iss: ISSUER, ...payload })
  return expires === null ? token : token.setExpirationTime(expires)
}
const byKey = (payload: JWTPayload, expires?: Date | null) =>
  sign(payload, expires).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(published.privateKey)
const bySecret = (payload: JWTPayload) =>
  sign(payload).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRET))
const verifierOf = ({ keys = { jwksUrl: auth.url }, mfaRequired = true } = {}) =>
  createOperatorTokens({ keys, issuer: ISSUER, mfaRequired }, () => NOW)

describe('an access token of an operator', () => {
  it('names its user and their role by the published key of auth', async () => {
    expect(await verifierOf()(await byKey(claims))).toEqual(ANN)
  })

  it('names its user by the secret of auth where auth signs with one', async () => {
    const verify = createOperatorTokens({ keys: { secret: SECRET }, issuer: ISSUER, mfaRequired: true }, () => NOW)
    expect(await verify(await bySecret(claims))).toEqual(ANN)
    expect(await verify(await byKey(claims))).toBeUndefined()
  })

  it.each(['r&d@example.com', 'ops@host', 'a..b@example.com', 'x@example.c-d'])(
    'names the user of %s',
    async (email) => {
      expect(await verifierOf()(await byKey({ ...claims, email }))).toEqual({ ...ANN, email })
    },
  )

  it('needs no second factor where none is required', async () => {
    expect(await verifierOf({ mfaRequired: false })(await byKey({ ...claims, aal: 'aal1' }))).toEqual(ANN)
  })

  it.each<[string, JWTPayload]>([
    ['without a second factor', { ...claims, aal: 'aal1' }],
    ['of a user without a role', { ...claims, app_metadata: {} }],
    ['with an unknown role', { ...claims, app_metadata: { console_role: 'owner' } }],
    ['whose user wrote the role', { ...claims, app_metadata: {}, user_metadata: { console_role: 'admin' } }],
    ['of another issuer', { ...claims, iss: 'https://other.example' }],
    ['without an email', { ...claims, email: undefined }],
    ['without a session', { ...claims, session_id: undefined }],
    ['of an anonymous user', { ...claims, is_anonymous: true }],
    ['whose sub is no user', { ...claims, sub: 'ann' }],
  ])('%s is refused', async (_case, payload) => {
    expect(await verifierOf()(await byKey(payload))).toBeUndefined()
  })

  it('is refused without an end, and from its end on', async () => {
    const verify = verifierOf()
    expect(await verify(await byKey(claims, null))).toBeUndefined()
    expect(await verify(await byKey(claims, new Date(NOW.getTime() - 6_000)))).toBeUndefined()
    expect(await verify(await byKey(claims, new Date(NOW.getTime() + 1_000)))).toEqual(ANN)
  })

  it('is refused when another key, a secret or nobody has signed it', async () => {
    const verify = verifierOf()
    const elsewhere = await sign(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(foreign.privateKey)
    const [head = '', body = ''] = (await byKey(claims)).split('.')
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`
    expect(await Promise.all([elsewhere, await bySecret(claims), none, head].map(verify))).toEqual(
      Array.from({ length: 4 }, () => undefined),
    )
  })

  it('is neither good nor refused while the keys of auth cannot be read', async () => {
    answer = { status: 500 }
    const failure = await verifierOf()(await byKey(claims)).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UnverifiableTokenError)
    answer = { status: 200, body: jwks }
  })
})
