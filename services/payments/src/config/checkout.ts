import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, text, url } from '@trestle/common/config/setting.ts'

const HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i

/** Settings of the checkout. @see contract 15, 24 */
export const checkoutSettings = {
  VAULT_HOST: text()
    .refine((value) => HOST.test(value), 'must be a host name without a port')
    .optional(),
  REQUIRE_TLS: flag().default(false),
  POS_URL: url().optional(),
} as const

export function toCheckoutConfig({
  VAULT_HOST,
  REQUIRE_TLS,
  POS_URL,
  BASE_URL,
}: SettingValues<typeof checkoutSettings> & { readonly BASE_URL: string }) {
  return {
    checkout: {
      /** The page of payment links, as customers reach it. */
      posUrl: POS_URL ?? `${BASE_URL}/pos`,
      /** A host whose root is that page too. */
      posHost: POS_URL === undefined ? undefined : new URL(POS_URL).hostname,
      /** The host whose root is the vault. */
      vaultHost: VAULT_HOST,
      /** Whether live card data must come by TLS. */
      requireTls: REQUIRE_TLS,
    },
  } as const
}
