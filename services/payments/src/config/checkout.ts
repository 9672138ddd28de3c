import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, matching, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'

const HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i

export const checkoutSettings = group('Checkout', {
  VAULT_HOST: matching(HOST, 'a host name without a port').optional().describe('A host whose root is the vault.'),
  REQUIRE_TLS: flag()
    .prefault('false')
    .describe(
      'Refuse card data that comes without TLS: all of it at the vault and at the pages of payment links, that of live merchants at `/payments`. Needs `PAYMENTS_TRUSTED_PROXIES`, because a proxy says what came by TLS.',
    ),
  POS_URL: url()
    .optional()
    .describe(
      'The page of payment links, as customers reach it. It is the root of this host too. Default: `/pos` below `PAYMENTS_BASE_URL`.',
    ),
})

export interface CheckoutConfig {
  readonly checkout: {
    /** The public URL of the payment page. */
    readonly posUrl: string
    /** The host at whose root the payment page is served too. */
    readonly posHost: string | undefined
    /** The host at whose root the vault is served. */
    readonly vaultHost: string | undefined
    /** Whether live card data must arrive by TLS. */
    readonly requireTls: boolean
  }
}

export function toCheckoutConfig({
  VAULT_HOST,
  REQUIRE_TLS,
  POS_URL,
  BASE_URL,
}: SettingValues<typeof checkoutSettings> & { readonly BASE_URL: string }): CheckoutConfig {
  return {
    checkout: {
      posUrl: POS_URL ?? `${BASE_URL}/pos`,
      posHost: POS_URL === undefined ? undefined : new URL(POS_URL).hostname,
      vaultHost: VAULT_HOST,
      requireTls: REQUIRE_TLS,
    },
  } as const
}
