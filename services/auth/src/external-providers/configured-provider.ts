import type { ClientAccount, OAuth1Provider, OAuth2Provider } from './provider.ts'
import type { Subjects } from './subjects.ts'

/** A provider at which users may sign in. */
export interface ConfiguredProvider<Kind extends OAuth2Provider | OAuth1Provider> {
  readonly name: string
  readonly provider: Kind
  readonly account: ClientAccount
  /** The accepted audiences of id_tokens: the client id of the account, and the client ids of other apps. */
  readonly clientIds: readonly string[]
  /** Whether a user may have no email address. */
  readonly emailOptional: boolean
  readonly checksNonce: boolean
  /** The origin of the URLs of the provider: `operator` for settings and the source code, `data` for the database. */
  readonly origin: 'operator' | 'data'
  /** The meaning of the subjects of a custom provider, which an admin may change during a sign-in. */
  readonly subjects?: Subjects
}

/** A provider with the service's account there. The protocol tells OAuth 2.0 and OAuth 1.0a apart. */
export type AnyConfiguredProvider = ConfiguredProvider<OAuth2Provider> | ConfiguredProvider<OAuth1Provider>

/** Whether a provider speaks OAuth 1.0a. */
export function isOAuth1(configured: AnyConfiguredProvider): configured is ConfiguredProvider<OAuth1Provider> {
  return configured.provider.protocol === 'oauth1a'
}
