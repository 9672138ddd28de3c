import type { z } from 'zod'
import type { PaymentsDeps } from '../deps.ts'
import { sealToken, type VaultBody, type VaultToken } from '../vault/card-token.ts'

/** Makes a token for card data. Nothing is stored (reference: Vault). */
export function tokenizeCard(
  deps: Pick<PaymentsDeps, 'seals' | 'now' | 'randomBytes'>,
  body: z.output<typeof VaultBody>,
): z.input<typeof VaultToken> {
  return { token: sealToken(deps.seals.tokens, deps, body) }
}
