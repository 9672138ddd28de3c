import type { Lanes } from '@trestle/database/lanes.ts'
import { type Asked, valuesOrNull } from '../access/asked.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { requireAccess } from '../access/require-access.ts'
import { callSaveCard } from '../cards/card-repository.ts'
import { refuseCard, refuseSource } from '../transactions/refuse-charge.ts'

/** The card to keep. */
export interface SaveCardInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly asked: Asked<{ readonly transactionId: string; readonly notes?: string | undefined }>
}

/**
 * Keeps the card of a transaction under an id of its own.
 * @throws unknownSource when the merchant has no such successful transaction, paymentRefused when the merchant may not keep
 * cards, and what `requireAccess` throws
 */
export async function saveCard(
  { lanes }: { readonly lanes: Lanes },
  { caller, merchantId, asked }: SaveCardInput,
): Promise<{ readonly cardId: string; readonly replayed: boolean }> {
  const { transactionId = null, notes = null } = valuesOrNull(asked) ?? {}
  const saved = await callSaveCard(lanes, { ...callerColumns(caller), merchantId, transactionId, notes })
  const { verdict, cardId, errorCode, hasSource } = requireAccess(caller, saved, asked)
  if (!hasSource) refuseSource('transactionId')
  const replayed = verdict === 'replayed'
  if (errorCode !== null) refuseCard(errorCode, { replayed })
  if (cardId === null) throw new Error(`create_card answered ${verdict} without a card`)
  return { cardId, replayed }
}
