import { z } from 'zod'
import type { TestApp } from './auth-app.ts'
import { createSignedUp, type SignedUp } from './signed-up.ts'

/** A user with a session. */
export interface SignedIn extends SignedUp {
  readonly headers: { readonly authorization: string }
  readonly refreshToken: string
  readonly sessionId: string
  /** The user record in the session's answer. */
  readonly record: Readonly<Record<string, unknown>>
}

const Identities = z.object({ identities: z.tuple([z.object({ identity_id: z.string() })], z.unknown()) })

/** Returns the id of a user's first identity, which has the sign-up address. */
export function ownIdentityId({ record }: Pick<SignedIn, 'record'>): string {
  return Identities.parse(record).identities[0].identity_id
}

/** Signs in a user with a password. */
export async function signIn(
  { app }: Pick<TestApp, 'app'>,
  { phone, ...signedUp }: SignedUp & { readonly phone?: string },
): Promise<SignedIn> {
  const { email, password } = signedUp
  const payload = phone === undefined ? { email, password } : { phone, password }
  const answer = await app.inject({ method: 'POST', url: '/token?grant_type=password', payload })
  const { access_token: token, refresh_token: refreshToken, user: record } = answer.json()
  const claims = JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString())
  const headers = { authorization: `Bearer ${token}` }
  return { ...signedUp, headers, refreshToken, sessionId: String(claims.session_id), record }
}

/** Creates a confirmed user with a password, and signs them in. */
export async function createSignedIn(
  test: TestApp,
  changes: Parameters<typeof createSignedUp>[1] = {},
): Promise<SignedIn> {
  return signIn(test, await createSignedUp(test.deps, changes))
}
