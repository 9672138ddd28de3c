import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import {
  type StubAnswer,
  type StubProvider,
  type StubRequest,
  startStubProvider,
} from '@trestle/testing/stub-provider.ts'
import { expect } from 'vitest'
import { PROVIDERS, type ProviderName } from '../../src/config/external.ts'
import type { AuthDeps } from '../../src/deps.ts'
import { createKeySets } from '../../src/external-providers/key-sets.ts'
import type { TestAppOptions } from '../auth-app.ts'
import { type MailApp, openMailApp } from '../mail-app.ts'

/** The answers of the providers, by method and URL without query: `GET https://api.github.com/user`. */
export type Answers = (call: string, request: StubRequest) => StubAnswer | undefined | Promise<StubAnswer | undefined>

/** The service and the stubs of its providers. */
export interface ExternalApp extends MailApp {
  readonly world: StubProvider
  /** Replaces the answers of the providers. */
  answer(answers: Answers): void
  /** Opens /authorize as a browser would. @returns the address of the redirect, and the flow's state */
  begin(provider: string, query?: Readonly<Record<string, string>>): Promise<{ url: URL; state: string }>
  /** Returns from the provider. @returns the page where the browser ends */
  comeBack(query: Readonly<Record<string, string>>, path?: string): Promise<Landing>
}

/** The page where a browser ends. */
export interface Landing {
  readonly status: number
  readonly url: URL
  /** The parameters of the fragment. */
  readonly fragment: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

/** The address to which every provider returns the browser. */
export const REDIRECT_URI = 'http://localhost:8081/callback'

/** Enables every provider. */
const ALL_PROVIDERS: Readonly<Record<string, string>> = Object.fromEntries(
  PROVIDERS.flatMap((name) => {
    const prefix = `AUTH_EXTERNAL_${name.toUpperCase()}`
    return [
      [`${prefix}_ENABLED`, 'true'],
      [`${prefix}_CLIENT_ID`, `${clientId(name)},${clientId(name)}-app`],
      [`${prefix}_SECRET`, clientSecret(name)],
      [`${prefix}_REDIRECT_URI`, REDIRECT_URI],
    ]
  }),
)

/** The first client id of a provider in the settings. */
export function clientId(name: ProviderName): string {
  return `${name}-client`
}

/** A secret with a character that forms and Basic authentication encode differently. */
export function clientSecret(name: ProviderName): string {
  return `${name} secret+`
}

/** Sends calls for all hosts to one server. The first path segments tell it the original host. */
function divert(world: StubProvider): AuthDeps['outbound'] {
  const outbound = createOutbound([])
  return {
    ...outbound,
    send: (request) => outbound.send({ ...request, url: `${world.url}/${request.url}`, origin: 'operator' }),
  }
}

/** Opens the service with all providers and their stubs. */
export async function openExternalApp(
  settings: Readonly<Record<string, string>> = {},
  { replace = () => ({}), ...options }: Omit<TestAppOptions, 'settings'> = {},
): Promise<ExternalApp> {
  let answers: Answers = () => ({ status: 404 })
  const problems: unknown[] = []
  const world = await startStubProvider(async (request) => {
    const url = request.url.slice(1)
    try {
      return await answers(`${request.method} ${url.split('?', 1)[0]}`, { ...request, url })
    } catch (problem) {
      problems.push(problem)
      return { status: 500 }
    }
  })
  const service = await openMailApp(
    {
      ...ALL_PROVIDERS,
      AUTH_EXTERNAL_KEYCLOAK_URL: 'https://keycloak.example.com/realms/test',
      AUTH_EXTERNAL_WORKOS_TRUSTED_CONNECTIONS: 'conn_01E4ZCR3C56J083X43JQXF3JK5',
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_URI_ALLOW_LIST: 'https://app.example.com/**',
      ...settings,
    },
    {
      ...options,
      replace: (deps) => {
        const outbound = divert(world)
        return { outbound, keySets: createKeySets(outbound, () => new Date()), ...replace(deps) }
      },
    },
  )
  return {
    ...service,
    world,
    answer: (next) => {
      answers = next
    },
    begin: async (provider, query = {}) => {
      const search = new URLSearchParams({ provider, ...query })
      const answer = await service.app.inject(`/authorize?${search}`)
      const url = new URL(String(answer.headers.location))
      return { url, state: url.searchParams.get('state') ?? '' }
    },
    comeBack: async (query, path = '/callback') =>
      land(await service.app.inject(`${path}?${new URLSearchParams(query)}`)),
    close: async () => {
      await service.close()
      await world.close()
      // Requests that contradict the provider's documentation.
      expect(problems).toEqual([])
    },
  }
}

/** Parses the answer of /callback. */
export function land(answer: { statusCode: number; headers: Record<string, unknown> }): Landing {
  const url = new URL(String(answer.headers.location))
  return {
    status: answer.statusCode,
    url,
    fragment: Object.fromEntries(new URLSearchParams(url.hash.slice(1))),
    query: Object.fromEntries(url.searchParams),
  }
}
