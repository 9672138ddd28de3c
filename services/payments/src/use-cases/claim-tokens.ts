import type { PaymentsDeps } from '../deps.ts'
import { tokenInvalid } from '../errors.ts'
import { bindTokens } from '../payments/token-repository.ts'
import type { OpenOrder } from './open-checkout.ts'

/**
 * Claims the tokens of an order for its merchant, before anything is looked up or asked with them: a token is of use to the
 * merchant alone that used it first, so that one that leaks cannot pay elsewhere.
 * @throws 400 when another merchant was first
 */
export async function claimTokens(
  { lanes }: Pick<PaymentsDeps, 'lanes'>,
  { payee, tokens: { number, code } }: Pick<OpenOrder, 'payee' | 'tokens'>,
): Promise<void> {
  const own = await bindTokens(lanes, payee.id, [number, code])
  if (!own.has(number.jti)) throw tokenInvalid({ details: { path: 'card.number' } })
  if (!own.has(code.jti)) throw tokenInvalid({ details: { path: 'card.code' } })
}
