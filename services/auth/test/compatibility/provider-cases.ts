import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import type { JWTPayload } from 'jose'
import { z } from 'zod'
import { buildApp } from '../../src/app.ts'
import { createKeySets } from '../../src/external-providers/key-sets.ts'
import { type Landing, land } from '../external/external-app.ts'
import { JWKS, signIdToken } from '../external/provider-stub.ts'
import { OPERATOR } from '../forged-token.ts'
import type { MailApp } from '../mail-app.ts'
import { createSignedIn } from '../signed-in.ts'
import { createSecondOwner, createSignedUp } from '../signed-up.ts'
import type { OptionCases } from './option-case.ts'

const KEYCLOAK = 'https://keycloak.example.com/realms/test'
const settings = {
  AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
  AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: 'client',
  AUTH_EXTERNAL_KEYCLOAK_SECRET: 'secret',
  AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI: 'http://localhost:8081/callback',
  AUTH_EXTERNAL_KEYCLOAK_URL: KEYCLOAK,
  AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
} as const

const UserRecord = z.object({
  user_metadata: z.record(z.string(), z.unknown()),
  app_metadata: z.object({ providers: z.array(z.string()) }),
  identities: z.array(z.object({ identity_data: z.record(z.string(), z.unknown()) })),
})

/** A browser at the service. Its provider knows one user. */
interface Browser {
  readonly get: (url: string, token: string) => Promise<Record<string, unknown>>
  /** Visits the provider and returns. @param answer the parameters from the provider; by default a code */
  signIn(answer?: Readonly<Record<string, string>>, linkTo?: string): Promise<Landing>
  /** Signs in by an id_token. @returns the error code, or the email of the user */
  grant(claims: JWTPayload, fields: Readonly<Record<string, string>>): Promise<unknown>
}

/** Opens the service again, with a stub instead of the real provider. */
async function atProvider<Seen>(
  service: MailApp,
  profile: Readonly<Record<string, unknown>>,
  see: (browser: Browser) => Promise<Seen>,
): Promise<Seen> {
  const provider = await startStubProvider(async ({ url }) => ({
    body: url.endsWith('/token')
      ? { access_token: 'of the provider', token_type: 'bearer' }
      : url.endsWith('/certs')
        ? JWKS
        : profile,
  }))
  const outbound = createOutbound([])
  const diverted = {
    ...outbound,
    send: (request: Parameters<typeof outbound.send>[0]) =>
      outbound.send({ ...request, url: `${provider.url}/${new URL(request.url).pathname}`, origin: 'operator' }),
  }
  const app = await buildApp({
    ...service.deps,
    outbound: diverted,
    keySets: createKeySets(diverted, () => new Date()),
  })
  const headersOf = (token: string | undefined) => (token ? { authorization: `Bearer ${token}` } : {})
  try {
    return await see({
      grant: async (claims, fields) => {
        const id_token = await signIdToken({ iss: KEYCLOAK, aud: 'client', ...claims }, service.clock)
        const payload = { id_token, ...fields }
        const answer = await app.inject({ method: 'POST', url: '/token?grant_type=id_token', payload })
        const { error_code: code, error, user } = answer.json()
        return code ?? user?.email ?? error
      },
      get: async (url, token) => (await app.inject({ url, headers: headersOf(token) })).json(),
      signIn: async (answer = { code: 'code' }, linkTo) => {
        const path = linkTo ? '/user/identities/authorize' : '/authorize'
        const begun = await app.inject({ url: `${path}?provider=keycloak`, headers: headersOf(linkTo) })
        const state = new URL(String(begun.headers.location)).searchParams.get('state') ?? ''
        return land(await app.inject(`/callback?${new URLSearchParams({ ...answer, state })}`))
      },
    })
  } finally {
    await app.close()
    await provider.close()
  }
}

export const providerCases = {
  showProviderInFragment: {
    settings,
    observe: (service) =>
      atProvider(service, { sub: 'fay', email: 'fay@example.com', email_verified: true }, async ({ signIn }) => {
        const { fragment } = await signIn()
        return [fragment.provider, typeof fragment.access_token]
      }),
    compatible: ['keycloak', 'string'],
    supabase: [undefined, 'string'],
  },
  refuseSharedEmailAsTaken: {
    settings,
    observe: async (service) => {
      const email = 'shared@example.com'
      await createSignedUp(service.deps, { email })
      await createSecondOwner(service, email)
      const profile = { sub: 'shared', email, email_verified: true }
      return atProvider(service, profile, async ({ signIn, grant }) => {
        const { query } = await signIn()
        return [query.error_code, await grant(profile, { provider: 'keycloak' })]
      })
    },
    compatible: ['email_exists', 'email_exists'],
    supabase: ['unexpected_failure', 'unexpected_failure'],
  },
  mergeProfileOnLinking: {
    settings,
    observe: async (service) => {
      const { headers } = await createSignedIn(service, { raw_user_meta_data: { name: 'Ann' } })
      const token = headers.authorization.slice('Bearer '.length)
      return atProvider(service, { sub: 'kurt', email: 'kurt@example.com', name: 'Kurt' }, async ({ signIn, get }) => {
        await signIn(undefined, token)
        const { user_metadata, app_metadata, identities } = UserRecord.parse(await get('/user', token))
        return [user_metadata.name, app_metadata.providers, identities.length]
      })
    },
    compatible: ['Kurt', ['email', 'keycloak'], 2],
    supabase: ['Ann', ['email', 'keycloak'], 2],
  },
  keepChosenMetadata: {
    settings,
    observe: (service) =>
      atProvider(
        service,
        { sub: 'nora', email: 'nora@example.com', email_verified: true, name: 'Nora' },
        async (at) => {
          const { fragment } = await at.signIn()
          const token = fragment.access_token ?? ''
          const headers = { authorization: `Bearer ${token}` }
          const payload = { data: { full_name: 'Nora B.' } }
          await service.app.inject({ method: 'PUT', url: '/user', headers, payload })
          await at.signIn()
          const { user_metadata } = UserRecord.parse(await at.get('/user', token))
          return [user_metadata.name, user_metadata.full_name]
        },
      ),
    compatible: ['Nora', 'Nora B.'],
    supabase: ['Nora', 'Nora'],
  },
  showEmptyCustomClaims: {
    settings,
    observe: (service) =>
      atProvider(service, { sub: 'carl', email: 'carl@example.com', email_verified: true }, async ({ signIn, get }) => {
        const { fragment } = await signIn()
        const { user_metadata, identities } = UserRecord.parse(await get('/user', fragment.access_token ?? ''))
        return [user_metadata.custom_claims, identities[0]?.identity_data.custom_claims]
      }),
    compatible: [undefined, undefined],
    supabase: [{}, {}],
  },
  showProviderRefusalCode: {
    settings,
    observe: (service) =>
      atProvider(service, {}, async ({ signIn }) => {
        const { query, fragment } = await signIn({ error: 'access_denied' })
        const lost = await signIn({})
        return [query.error, query.error_code, fragment.error_code, lost.query.error_code]
      }),
    compatible: ['access_denied', 'bad_oauth_callback', 'bad_oauth_callback', 'bad_oauth_callback'],
    supabase: ['access_denied', undefined, undefined, 'bad_oauth_callback'],
  },
  reportUnknownIssuerAsUnsupported: {
    settings,
    observe: (service) =>
      atProvider(service, {}, async ({ grant }) => [
        await grant({ sub: 'a' }, { provider: 'github' }),
        await grant({ sub: 'a' }, { issuer: 'https://another.example.com', client_id: 'client' }),
        await grant({ sub: 'a' }, { provider: 'google' }),
        await grant({ sub: 'a' }, { issuer: 'https://accounts.google.com', client_id: 'client' }),
      ]),
    compatible: Array(4).fill('provider_disabled'),
    supabase: ['validation_failed', 'validation_failed', 'provider_disabled', 'provider_disabled'],
  },
  acceptIssuersOfEnabledProviders: {
    settings,
    observe: (service) =>
      atProvider(service, {}, async ({ grant }) => {
        const claims = { sub: 'ines', email: 'ines@example.com', email_verified: true }
        return [
          await grant(claims, { issuer: KEYCLOAK, client_id: 'client' }),
          await grant({ ...claims, aud: 'another' }, { issuer: KEYCLOAK, client_id: 'another' }),
        ]
      }),
    compatible: ['provider_disabled', 'provider_disabled'],
    supabase: ['ines@example.com', 'invalid request'],
  },
  requireEmailInIdToken: {
    settings: { ...settings, AUTH_MAILER_AUTOCONFIRM: 'true' },
    observe: async (service) => {
      const grant = (deps: MailApp['deps'], sub: string) =>
        atProvider({ ...service, deps }, {}, (browser) => browser.grant({ sub }, { provider: 'keycloak' }))
      const { mail, ...config } = service.deps.config
      const confirming = { ...service.deps, config: { ...config, mail: { ...mail, autoconfirm: false } } }
      return [await grant(service.deps, 'nomail'), await grant(confirming, 'nomail-either')]
    },
    compatible: ['validation_failed', 'validation_failed'],
    supabase: ['', 'provider_email_needs_verification'],
  },
  ownCallbackOfNewProviders: {
    settings: { AUTH_CUSTOM_OAUTH_ENABLED: 'true' },
    observe: async (service) => {
      const payload = {
        provider_type: 'oauth2',
        identifier: `custom:${service.deps.config.profile}`,
        name: 'Wiki',
        client_id: 'client',
        client_secret: 'secret',
        authorization_url: 'https://wiki.example.com/authorize',
        token_url: 'https://wiki.example.com/token',
        userinfo_url: 'https://wiki.example.com/userinfo',
      }
      const request = { method: 'POST', url: '/admin/custom-providers', payload, headers: OPERATOR } as const
      return new URL((await service.app.inject(request)).json().redirect_uri).pathname
    },
    compatible: '/callback/custom:compatible',
    supabase: '/callback',
  },
} as const satisfies OptionCases
