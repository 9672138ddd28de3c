import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { buildApp } from '../../src/app.ts'
import { createKeySets } from '../../src/external-providers/key-sets.ts'
import { type Landing, land } from '../external/external-app.ts'
import type { MailApp } from '../mail-app.ts'
import type { BehaviourCases } from './behaviour-case.ts'

const KEYCLOAK = 'https://keycloak.example.com/realms/test'
const settings = {
  AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
  AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: 'client',
  AUTH_EXTERNAL_KEYCLOAK_SECRET: 'secret',
  AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI: 'http://localhost:8081/callback',
  AUTH_EXTERNAL_KEYCLOAK_URL: KEYCLOAK,
  AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
} as const

/** A browser at the service, whose provider knows one user. */
interface Browser {
  readonly get: (url: string, token: string) => Promise<Record<string, unknown>>
  /** Goes to the provider and comes back. @param answer of the provider; by default a code */
  signIn(answer?: Readonly<Record<string, string>>, linkTo?: string): Promise<Landing>
}

/** Opens the service again, with a provider that answers in place of the real one. */
async function atProvider<Seen>(
  service: MailApp,
  profile: Readonly<Record<string, unknown>>,
  see: (browser: Browser) => Promise<Seen>,
): Promise<Seen> {
  const provider = await startStubProvider(async ({ url }) => ({
    body: url.endsWith('/token') ? { access_token: 'of the provider', token_type: 'bearer' } : profile,
  }))
  const outbound = createOutbound([])
  const diverted = {
    mayCall: outbound.mayCall,
    send: (request: Parameters<typeof outbound.send>[0]) =>
      outbound.send({ ...request, url: `${provider.url}/${new URL(request.url).pathname}`, origin: 'operator' }),
  }
  const app = await buildApp({ ...service.deps, outbound: diverted, keySets: createKeySets(diverted) })
  const headersOf = (token: string | undefined) => (token ? { authorization: `Bearer ${token}` } : {})
  try {
    return await see({
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

/** Sign-ins at providers. */
export const providerCases = {
  providerInFragment: {
    settings,
    observe: (service) =>
      atProvider(service, { sub: 'fay', email: 'fay@example.com', email_verified: true }, async ({ signIn }) => {
        const { fragment } = await signIn()
        return [fragment.provider, typeof fragment.access_token]
      }),
    compatible: ['keycloak', 'string'],
    supabase: [undefined, 'string'],
  },
} as const satisfies BehaviourCases
