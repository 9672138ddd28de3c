import { createHmac } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { TestApp } from './auth-app.ts'
import { expectBody } from './bodies.ts'

type Headers = { readonly authorization: string }
type Service = Pick<TestApp, 'app' | 'clock'>

export interface AuthenticatorApp {
  readonly factorId: string
  readonly secret: string
  /** Returns the current code, or the code a number of 30 s steps later. */
  code(stepsFromNow?: number): string
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Computes the six digits of RFC 6238 without the library of the service. */
export function totpCode(secret: string, now: Date, stepsFromNow = 0): string {
  const bits = [...secret].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now.getTime() / 30_000) + stepsFromNow))
  const mac = createHmac('sha1', key).update(counter).digest()
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** Enrols an authenticator app without verifying it. */
export async function enrolApp({ app, clock }: Service, headers: Headers, name = ''): Promise<AuthenticatorApp> {
  const payload = { factor_type: 'totp', friendly_name: name }
  const { id, totp } = expectBody(200, await app.inject({ method: 'POST', url: '/factors', headers, payload }))
  const secret = String(totp.secret)
  return { factorId: id, secret, code: (stepsFromNow) => totpCode(secret, clock.now(), stepsFromNow) }
}

/** Creates a challenge and returns its id. */
export async function challenge({ app }: Pick<TestApp, 'app'>, headers: Headers, factorId: string): Promise<string> {
  const answer = await app.inject({ method: 'POST', url: `/factors/${factorId}/challenge`, headers })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json().id
}

export async function answerChallenge(
  service: Pick<TestApp, 'app'>,
  headers: Headers,
  { factorId, code }: { readonly factorId: string; readonly code: string },
): Promise<LightMyRequestResponse> {
  const payload = { challenge_id: await challenge(service, headers, factorId), code }
  return service.app.inject({ method: 'POST', url: `/factors/${factorId}/verify`, headers, payload })
}

/** A session that a second factor has stepped up. */
export interface SteppedUpSession {
  readonly app: AuthenticatorApp
  readonly headers: Headers
  readonly refreshToken: string
}

export async function addApp(service: Service, headers: Headers, name = ''): Promise<SteppedUpSession> {
  const app = await enrolApp(service, headers, name)
  const answer = await answerChallenge(service, headers, { factorId: app.factorId, code: app.code() })
  const { access_token: token, refresh_token: refreshToken } = answer.json()
  return { app, headers: { authorization: `Bearer ${token}` }, refreshToken }
}

export function claimsOf(accessToken: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
}
