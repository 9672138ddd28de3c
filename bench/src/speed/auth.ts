import { z } from 'zod'
import { post } from '../services/http-client.ts'
import type { Scenario } from './scenario.ts'

/** The password of every user of a measurement. */
export const PASSWORD = 'correct horse battery staple'
const USERS = 64
/** More sessions than connections, so that a token is always free. */
const REFRESHING = 48

const Session = z.object({ access_token: z.string(), refresh_token: z.string() })
/** The tokens of a sign-in. */
export type Session = z.output<typeof Session>

/** Settings of a measured service: no rate limit, and accounts work without a mail. */
const authEnv = {
  // Both servers sign with AUTH_JWT_SECRET, so that the reference accepts the tokens of the service.
  AUTH_JWT_KEYS: '',
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_RATE_LIMIT_TOKEN_REFRESH: 'off',
  AUTH_RATE_LIMIT_OTP: 'off',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
}

/** Measures sessions: reading the user of an access token, and rotating a refresh token. passwords.ts measures passwords. */
export const authScenario: Scenario = {
  service: 'auth',
  env: authEnv,
  referenceEnv: ({ AUTH_JWT_SECRET }) => ({ JWT_SECRET: AUTH_JWT_SECRET, ISSUER: 'http://localhost' }),
  prepare: async ({ url }) => {
    const emails = Array.from({ length: USERS }, (_, index) => `user${index}@bench.example`)
    const sessions = await each(emails, (email) => signUp(url, email))
    const accessTokens = sessions.map(({ access_token }) => access_token)
    return [
      {
        name: 'GET /user',
        goal: 0.8,
        nextLoad: async () => ({
          method: 'GET',
          path: '/user',
          headers: { authorization: 'Bearer {token}' },
          tokens: accessTokens,
          connections: 64,
        }),
      },
      {
        name: 'POST /token refresh_token',
        goal: 0.8,
        nextLoad: async () => {
          // The answers that were open when the last sample ended took their tokens with them, so each sample makes new
          // sessions.
          const fresh = await each(emails.slice(0, REFRESHING), (email) => signIn(url, email))
          return {
            method: 'POST',
            path: '/token?grant_type=refresh_token',
            body: '{"refresh_token":"{token}"}',
            tokens: fresh.map(({ refresh_token }) => refresh_token),
            chain: 'refresh_token',
            connections: 32,
          }
        },
      },
    ]
  },
}

/** Makes an account, and returns its session. */
export async function signUp(url: string, email: string): Promise<Session> {
  return Session.parse(await post(`${url}/signup`, { email, password: PASSWORD }))
}

async function signIn(url: string, email: string): Promise<Session> {
  return Session.parse(await post(`${url}/token?grant_type=password`, { email, password: PASSWORD }))
}

/** Signs up a few users at a time, since the queue of password work is bounded. */
async function each<T, Result>(items: readonly T[], work: (item: T) => Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let first = 0; first < items.length; first += 4) {
    results.push(...(await Promise.all(items.slice(first, first + 4).map(work))))
  }
  return results
}
