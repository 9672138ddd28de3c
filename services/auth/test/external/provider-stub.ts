import type { StubAnswer, StubRequest } from '@trestle/testing/stub-provider.ts'
import { CompactSign, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { expect } from 'vitest'
import type { ProviderName } from '../../src/config/external.ts'
import type { FakeClock } from '../fake-clock.ts'
import { type Answers, clientId, clientSecret, REDIRECT_URI } from './external-app.ts'

/** A provider as documented, and the identity that the service must store. */
export interface ProviderStub {
  readonly name: ProviderName
  /** The redirect of /authorize, with its parameters except the state and challenge. */
  readonly authorize: { readonly url: string; readonly parameters: Readonly<Record<string, string>> }
  readonly token: {
    readonly url: string
    readonly auth: 'basic' | 'post'
    readonly answer: Readonly<Record<string, unknown>>
  }
  /** The claims of the id_token in the same answer. */
  readonly idToken?: { readonly claims: JWTPayload; readonly jwksUrl: string }
  /** The requests with the access token, and their answers, by URL with query. */
  readonly resources: Readonly<Record<string, { readonly headers?: Record<string, string>; readonly body: unknown }>>
  /** Further fields of the callback. With them, the callback is a form. */
  readonly form?: Readonly<Record<string, string>>
  readonly pkce?: true
  /** The expected data of the identity. */
  readonly data: Readonly<Record<string, unknown>>
  /** The user's expected address. */
  readonly email: string
}

/** The only code that the stub exchanges. Its last characters are encoded in a query. */
export const CODE = 'code of the provider/+'
/** The access token for `CODE`. */
export const ACCESS_TOKEN = 'access-token-of-the-provider'
/** The refresh token for `CODE`. */
export const REFRESH_TOKEN = 'refresh-token-of-the-provider'

const { privateKey, publicKey } = await generateKeyPair('RS256')
const KID = 'key of the provider'
/** The keys of every stub. */
export const JWKS = { keys: [{ ...(await exportJWK(publicKey)), kid: KID, alg: 'RS256', use: 'sig' }] }

/** An id_token that is valid for an hour from the time of a clock. */
export function signIdToken(claims: JWTPayload, { now }: Pick<FakeClock, 'now'>): Promise<string> {
  const issuedAt = Math.floor(now().getTime() / 1_000)
  const times = { iat: issuedAt, exp: issuedAt + 3_600 }
  return new SignJWT({ ...times, ...claims }).setProtectedHeader({ alg: 'RS256', kid: KID }).sign(privateKey)
}

/** Signs a JSON text that the library would not produce, such as one with very long numbers. */
export function signText(text: string, header: object = { kid: KID }): Promise<string> {
  const signer = new CompactSign(new TextEncoder().encode(text))
  return signer.setProtectedHeader({ alg: 'RS256', ...header }).sign(privateKey)
}

/** Plays a provider, and checks every request. */
export function play(stub: ProviderStub, clock: Pick<FakeClock, 'now'>): Answers {
  return async (call, request) => {
    if (call === `POST ${stub.token.url}`) return answerToken(stub, request, clock)
    if (call === `GET ${stub.idToken?.jwksUrl}`) return { body: JWKS }
    const resource = stub.resources[request.url]
    if (!resource) return { status: 404, body: { message: `nothing at ${request.url}` } }
    const expected = { authorization: `Bearer ${ACCESS_TOKEN}`, ...resource.headers }
    expect(Object.keys(expected).map((name) => [name, request.headers[name]])).toEqual(Object.entries(expected))
    expect(request.headers['user-agent']).not.toBe('')
    return { body: resource.body }
  }
}

async function answerToken(
  { name, token, idToken, pkce }: ProviderStub,
  request: StubRequest,
  clock: Pick<FakeClock, 'now'>,
) {
  const { code_verifier: verifier, ...form } = Object.fromEntries(new URLSearchParams(request.body))
  const encode = (text: string) => new URLSearchParams({ text }).toString().slice('text='.length)
  const basic = Buffer.from(`${clientId(name)}:${encode(clientSecret(name))}`).toString('base64')
  const common = { grant_type: 'authorization_code', code: CODE, redirect_uri: REDIRECT_URI }
  const secret = { client_id: clientId(name), client_secret: clientSecret(name) }
  expect(form).toEqual(token.auth === 'post' ? { ...common, ...secret } : common)
  expect(request.headers.authorization).toBe(token.auth === 'basic' ? `Basic ${basic}` : undefined)
  expect(request.headers.accept).toBe('application/json')
  expect(request.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/)
  expect(verifier).toEqual(pkce ? expect.stringMatching(/^[\w-]{43}$/) : undefined)
  const id_token = idToken && (await signIdToken(idToken.claims, clock))
  return {
    body: { access_token: ACCESS_TOKEN, ...token.answer, ...(id_token ? { id_token } : {}) },
  } satisfies StubAnswer
}
