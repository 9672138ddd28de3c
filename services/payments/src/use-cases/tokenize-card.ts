import type { z } from 'zod'
import type { PaymentsDeps } from '../deps.ts'
import { type CardData, sealToken, type VaultToken } from '../vault/card-token.ts'

/** Makes a token for card data. Nothing is stored (reference: Vault). */
export function tokenizeCard(
  deps: Pick<PaymentsDeps, 'seals' | 'now' | 'randomBytes'>,
  data: CardData,
): z.input<typeof VaultToken> {
  return { token: sealToken(deps.seals.tokens, deps, data) }
}
