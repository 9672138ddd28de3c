import { type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { expect } from 'vitest'
import type { TestApp } from '../auth-app.ts'
import { fragmentBody } from '../bodies.ts'
import { land } from './external-app.ts'

/** The account that a provider returns. */
export interface Anybody {
  readonly sub: string
  readonly email?: string
  readonly verified?: boolean
  /** Only GitLab returns the picture. */
  readonly name?: string
  readonly picture?: string
  /** Additional addresses, for a provider that lists several. */
  readonly others?: readonly string[]
}

/** The providers that `AnybodyStub` simulates. */
export type AnybodyProvider = 'keycloak' | 'gitlab'

/** A stub of Keycloak and GitLab on loopback. The code contains the profile, so a test can sign in as any account. */
export interface AnybodyStub extends StubProvider {
  /** Enables both providers. */
  readonly settings: Readonly<Record<string, string>>
}

/** Starts the stub on a free port. */
export async function startAnybodyProvider(): Promise<AnybodyStub> {
  const stub = await startStubProvider(({ method, url, headers, body }) => {
    if (method === 'POST')
      return { body: { access_token: new URLSearchParams(body).get('code'), token_type: 'bearer' } }
    const account = fromCode(headers.authorization?.slice('Bearer '.length) ?? '')
    if (url.endsWith('/userinfo')) return { body: { ...account, email_verified: account.verified ?? false } }
    if (url.endsWith('/emails')) return { body: (account.others ?? []).map((email) => ({ email })) }
    return {
      body: {
        ...{ id: Number(account.sub), email: account.email, confirmed_at: account.verified ? '2020-01-01' : null },
        ...{ name: account.name, avatar_url: account.picture },
      },
    }
  })
  const settings = (['KEYCLOAK', 'GITLAB'] as const).flatMap((name) => [
    [`AUTH_EXTERNAL_${name}_ENABLED`, 'true'],
    [`AUTH_EXTERNAL_${name}_CLIENT_ID`, 'client'],
    [`AUTH_EXTERNAL_${name}_SECRET`, 'secret'],
    [`AUTH_EXTERNAL_${name}_REDIRECT_URI`, 'http://localhost:8081/callback'],
    [`AUTH_EXTERNAL_${name}_URL`, stub.url],
  ])
  return { ...stub, settings: Object.fromEntries(settings) }
}

/** Returns the code that the provider issues for an account. */
export function toCode(account: Anybody): string {
  return Buffer.from(JSON.stringify(account)).toString('base64url')
}

function fromCode(code: string): Anybody {
  return JSON.parse(Buffer.from(code, 'base64url').toString())
}

/** Opens `/authorize` like a browser. @returns the state of the flow */
export async function begin(
  { app }: Pick<TestApp, 'app'>,
  provider: AnybodyProvider,
  query: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = await app.inject(`/authorize?${new URLSearchParams({ provider, ...query })}`)
  return new URL(String(answer.headers.location)).searchParams.get('state') ?? ''
}

/** Begins the flow for a signed-in user who links the identity. */
export async function beginLinking(
  { app }: Pick<TestApp, 'app'>,
  provider: AnybodyProvider,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const answer = await app.inject({ url: `/user/identities/authorize?provider=${provider}`, headers })
  return new URL(String(answer.headers.location)).searchParams.get('state') ?? ''
}

/** Returns from the provider with an account. @returns the last URL of the browser */
export async function comeBackAs({ app }: Pick<TestApp, 'app'>, state: string, account: Anybody) {
  return land(await app.inject(`/callback?${new URLSearchParams({ state, code: toCode(account) })}`))
}

/** The fragment at the end of a sign-in. It also contains the provider token. */
export const landedBody = (provider: AnybodyProvider) => fragmentBody(provider, { provider_token: expect.any(String) })

/** Signs in, from `/authorize` to the last redirect. */
export async function signInAs(service: Pick<TestApp, 'app'>, provider: AnybodyProvider, account: Anybody) {
  return comeBackAs(service, await begin(service, provider), account)
}
