import type { ClientAccount, OAuth1Provider, OAuth2Provider } from './provider.ts'

/** A provider that people may sign in by. */
export interface ConfiguredProvider<Kind extends OAuth2Provider | OAuth1Provider> {
  readonly name: string
  readonly provider: Kind
  readonly account: ClientAccount
  /** Accepted as the audience of id_tokens: the account's own, and those of apps beside it. */
  readonly clientIds: readonly string[]
  /** Whether somebody without an address may have an account. */
  readonly emailOptional: boolean
  readonly checksNonce: boolean
  /** Who has written its addresses: a setting (or this source), or a row of the database. */
  readonly origin: 'operator' | 'data'
}

export type AnyConfiguredProvider = ConfiguredProvider<OAuth2Provider> | ConfiguredProvider<OAuth1Provider>

/** Whether a provider speaks the older protocol. */
export function isOAuth1(configured: AnyConfiguredProvider): configured is ConfiguredProvider<OAuth1Provider> {
  return configured.provider.protocol === 'oauth1a'
}
