import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../../../test/authenticator-app.ts'
import {
  amrEntry,
  anyTime,
  claimsBody,
  errorBody,
  expectBody,
  factorBody,
  refusalsIn,
  signedUpBody,
  statusAndBody,
} from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { expectSession } from '../../../test/expect-user.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from '../../../test/signed-in.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    AUTH_MFA_WEBAUTHN_ENROLL_ENABLED: 'true',
    AUTH_MFA_WEBAUTHN_VERIFY_ENABLED: 'true',
    AUTH_WEBAUTHN_RP_ID: 'app.example.com',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
    AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
    AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
  })
})
afterAll(() => test.close())

type Headers = { readonly authorization: string }
const WRONG = [422, 'mfa_verification_failed', 'Invalid WebAuthn response'] as const

async function enrol(headers: Headers, friendly_name = ''): Promise<string> {
  return (await test.post('/factors', { factor_type: 'webauthn', friendly_name }, headers)).json().id
}

async function ask(factorId: string, headers: Headers) {
  const answer = await test.post(`/factors/${factorId}/challenge`, {}, headers)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  const { id, webauthn } = answer.json()
  return { challenge_id: id, type: webauthn.type, options: webauthn.credential_options.publicKey }
}

const verify = (factorId: string, payload: object, headers: Headers) =>
  test.post(`/factors/${factorId}/verify`, payload, headers)

/** The user record after the verification of an authenticator. */
const withKey = (signedIn: SignedIn, id: string) =>
  signedUpBody(signedIn, { factors: [factorBody({ id, factor_type: 'webauthn', last_challenged_at: anyTime })] })

async function createWithKey() {
  const signedIn = await createSignedIn(test)
  const key = createAuthenticator()
  const factorId = await enrol(signedIn.headers)
  const { challenge_id, options } = await ask(factorId, signedIn.headers)
  const webauthn = { type: 'create', credential_response: key.create(options) }
  const answer = await verify(factorId, { challenge_id, webauthn }, signedIn.headers)
  return {
    ...signedIn,
    key,
    factorId,
    answer,
    expected: withKey(signedIn, factorId),
    steppedUp: { authorization: `Bearer ${answer.json().access_token}` },
  }
}

describe('a WebAuthn factor', () => {
  it('200: enrols and returns only the id, type and name', async () => {
    const { headers } = await createSignedIn(test)
    const answer = await test.post('/factors', { factor_type: 'webauthn', friendly_name: 'key' }, headers)
    expect(statusAndBody(answer)).toEqual([200, { id: expect.any(String), type: 'webauthn', friendly_name: 'key' }])
  })

  it('200: asks for a new credential at the first challenge', async () => {
    const { headers, email, user } = await createSignedIn(test)
    const { type, options } = await ask(await enrol(headers), headers)
    expect(type).toBe('create')
    expect(options).toEqual({
      challenge: expect.stringMatching(/^[\w-]{40,}$/),
      rp: { name: 'The App', id: 'app.example.com' },
      user: {
        id: Buffer.from(user.id.replaceAll('-', ''), 'hex').toString('base64url'),
        name: email,
        displayName: email,
      },
      pubKeyCredParams: [
        { alg: -48, type: 'public-key' },
        { alg: -8, type: 'public-key' },
        { alg: -7, type: 'public-key' },
        { alg: -257, type: 'public-key' },
      ],
      timeout: 300_000,
      attestation: 'none',
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred', requireResidentKey: false },
      extensions: { credProps: true },
      hints: [],
    })
  })

  it('200: steps the session up, now and after the next sign-in', async () => {
    const owner = await createWithKey()
    const { key, factorId, answer, sessionId } = owner
    expect(claimsOf(expectBody(200, answer).access_token)).toEqual(
      claimsBody({
        sub: owner.user.id,
        email: owner.email,
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [amrEntry('mfa/webauthn'), amrEntry('password')],
        session_id: sessionId,
      }),
    )
    const later = await signIn(test, owner)
    const { type, options, challenge_id } = await ask(factorId, later.headers)
    expect([type, options.allowCredentials]).toEqual([
      'request',
      [{ id: key.credentials[0]?.id, transports: ['internal'], type: 'public-key' }],
    ])
    expect(options.rpId).toBe('app.example.com')
    const webauthn = { type: 'request', credential_response: key.get(options) }
    const verified = await verify(factorId, { challenge_id, webauthn }, later.headers)
    expect(claimsOf(expectBody(200, verified).access_token)).toEqual(
      claimsBody({
        sub: owner.user.id,
        email: owner.email,
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [amrEntry('mfa/webauthn'), amrEntry('password')],
        session_id: later.sessionId,
      }),
    )
  })

  it('200: excludes authenticators that already have a credential', async () => {
    const { key, steppedUp } = await createWithKey()
    const { options } = await ask(await enrol(steppedUp, 'second'), steppedUp)
    expect(() => key.create(options)).toThrow('already')
  })

  it('422: refuses an answer to another challenge, for a new credential and a known one', async () => {
    const wrong = { challenge: 'AAAA' }
    const { headers } = await createSignedIn(test)
    const unverified = await enrol(headers)
    const created = await ask(unverified, headers)
    const creation = { type: 'create', credential_response: createAuthenticator().create(created.options, wrong) }
    const body = { challenge_id: created.challenge_id, webauthn: creation }
    await failWith(test, { method: 'POST', url: `/factors/${unverified}/verify`, headers, payload: body }, WRONG)
    const { key, factorId, steppedUp } = await createWithKey()
    const asked = await ask(factorId, steppedUp)
    const webauthn = { type: 'request', credential_response: key.get(asked.options, wrong) }
    const answer = await verify(factorId, { challenge_id: asked.challenge_id, webauthn }, steppedUp)
    expect(statusAndBody(answer)).toEqual([422, errorBody(...WRONG)])
  })

  it('422: refuses a counter that does not rise, another key, a replayed signature and the wrong ceremony', async () => {
    const { key, factorId, steppedUp, expected } = await createWithKey()
    const other = await createWithKey()
    const refuse = async (toWebauthn: (options: Parameters<typeof key.get>[0]) => object) => {
      const { challenge_id, options } = await ask(factorId, steppedUp)
      const answer = await verify(factorId, { challenge_id, webauthn: toWebauthn(options) }, steppedUp)
      expect(statusAndBody(answer)).toEqual([422, errorBody(...WRONG)])
    }
    const request = (credential_response: object) => ({ type: 'request', credential_response })
    const { challenge_id, options } = await ask(factorId, steppedUp)
    const right = request(key.get(options))
    expectSession(await verify(factorId, { challenge_id, webauthn: right }, steppedUp), expected)
    await refuse((asked) => request(key.get(asked, { counter: 1 })))
    await refuse((asked) => request(other.key.get({ ...asked, allowCredentials: other.key.credentials })))
    await refuse(() => right)
    await refuse((asked) => ({ type: 'create', credential_response: createAuthenticator().create(asked) }))
    const { challenge_id: id } = await ask(factorId, steppedUp)
    const byCode = await verify(factorId, { challenge_id: id, code: '123456' }, steppedUp)
    expect(statusAndBody(byCode)).toEqual([422, errorBody(...WRONG)])
  })

  it('422: accepts one of many parallel answers to one challenge', async () => {
    const { key, factorId, steppedUp } = await createWithKey()
    const { challenge_id, options } = await ask(factorId, steppedUp)
    const webauthn = { type: 'request', credential_response: key.get(options) }
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => verify(factorId, { challenge_id, webauthn }, steppedUp)),
    )
    const refused = refusalsIn(answers)
    expect(refused).toHaveLength(9)
    for (const each of refused) {
      expect([
        [422, errorBody(...WRONG)],
        [422, errorBody(422, 'mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch.')],
      ]).toContainEqual(each)
    }
  })

  it('422: accepts one of many parallel answers with the same counter, since the others come from a copy', async () => {
    const { key, factorId, steppedUp } = await createWithKey()
    const asked = await Promise.all(Array.from({ length: 10 }, () => ask(factorId, steppedUp)))
    const answers = await Promise.all(
      asked.map(({ challenge_id, options }) => {
        const webauthn = { type: 'request', credential_response: key.get(options, { counter: 7 }) }
        return verify(factorId, { challenge_id, webauthn }, steppedUp)
      }),
    )
    expect(refusalsIn(answers)).toEqual(Array(9).fill([422, errorBody(...WRONG)]))
  })

  it('200: accepts an authenticator whose counter stays 0', async () => {
    const { key, factorId, steppedUp, expected } = await createWithKey()
    const { challenge_id, options } = await ask(factorId, steppedUp)
    const webauthn = { type: 'request', credential_response: key.get(options, { counter: 0 }) }
    expectSession(await verify(factorId, { challenge_id, webauthn }, steppedUp), expected)
  })

  it('200 and 422: keeps one of two parallel new credentials of a factor', async () => {
    const { headers } = await createSignedIn(test)
    const factorId = await enrol(headers)
    const asked = [await ask(factorId, headers), await ask(factorId, headers)]
    const answers = await Promise.all(
      asked.map(({ challenge_id, options }) => {
        const webauthn = { type: 'create', credential_response: createAuthenticator().create(options) }
        return verify(factorId, { challenge_id, webauthn }, headers)
      }),
    )
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 422])
    // The first request deletes other challenges of the factor, before or after the second request reads its own.
    const gone = errorBody(422, 'mfa_factor_not_found', 'MFA factor with the provided challenge ID not found')
    expect([errorBody(...WRONG), gone].map((body) => [[422, body]])).toContainEqual(refusalsIn(answers))
  })

  it('400: refuses a malformed answer of an authenticator', async () => {
    const { headers } = await createSignedIn(test)
    const factorId = await enrol(headers)
    const { challenge_id, options } = await ask(factorId, headers)
    const good = createAuthenticator().create(options)
    const refuse = async (webauthn: object, failure: Failure) => {
      const answer = await verify(factorId, { challenge_id, webauthn }, headers)
      expect(statusAndBody(answer)).toEqual([failure[0], errorBody(failure[0], failure[1], failure[2])])
    }
    const bad = (text: string) => [400, 'bad_json', `Could not parse request body as JSON: ${text}`] as const
    await refuse({}, bad('webauthn.type: is not valid'))
    await refuse({ type: 'create' }, bad('webauthn.credential_response: must be an object'))
    await refuse(
      { type: 'create', credential_response: { ...good, id: '{}' } },
      bad('webauthn.credential_response.id: must be base64url'),
    )
    const response = { ...good.response, attestationObject: 'AAAA' }
    await refuse({ type: 'create', credential_response: { ...good, response } }, WRONG)
    const garbled = { ...good.response, clientDataJSON: Buffer.from('{').toString('base64url') }
    await refuse({ type: 'create', credential_response: { ...good, response: garbled } }, WRONG)
  })
})
