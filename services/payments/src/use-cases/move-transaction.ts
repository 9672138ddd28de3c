import { admit, type Flaw } from '../access/admit.ts'
import type { Caller } from '../access/caller.ts'
import type { FieldError } from '../bodies/field-error.ts'
import type { PaymentsDeps } from '../deps.ts'
import { invalidFields } from '../error-body.ts'
import { rateUnavailable } from '../errors.ts'
import { formatMoney } from '../money/minor-units.ts'
import type { Operation } from '../transactions/amounts.ts'
import { judgeMove, type Move, type MoveRefusal } from '../transactions/move-repository.ts'
import type { Transaction } from '../transactions/transaction.ts'

/** What a client asks of a transaction; values are null when its body was refused. */
export interface MoveTransactionInput {
  readonly caller: Caller
  readonly flaw: Flaw | undefined
  readonly transactionId: string
  readonly operation: Operation
  readonly values: Pick<Move, 'amount' | 'currency' | 'descriptor' | 'reference'> | null
}

/**
 * Captures, refunds or voids part of a transaction. Amounts are judged once, under the lock of the transaction, so two captures
 * of the same money cannot both pass (reference: Refusal of amounts).
 */
export async function moveTransaction(
  { lanes, moves, repeats }: Pick<PaymentsDeps, 'lanes' | 'moves' | 'repeats'>,
  { caller, flaw, transactionId, operation, values }: MoveTransactionInput,
): Promise<{ readonly transaction: Transaction; readonly replayed: boolean }> {
  const { keyMac, person, repeat } = caller
  if (values === null) {
    admit(caller, await judgeMove(lanes, { keyMac, person, transactionId, operation }), flaw)
    throw new Error('a body without values was admitted')
  }
  return repeats.run(caller, async () => {
    const result = await moves.move({ keyMac, person, repeat, transactionId, operation, ...values })
    const { verdict, transaction, refusal } = admit(caller, result, flaw)
    if (refusal) throw toError(refusal, operation)
    if (!transaction) throw new Error(`move_many answered ${verdict} without a transaction`)
    return { transaction, replayed: verdict === 'replayed' }
  })
}

function toError(refusal: MoveRefusal, operation: Operation) {
  return refusal.reason === 'rate-unavailable' ? rateUnavailable() : invalidFields([fieldErrorOf(refusal, operation)])
}

function fieldErrorOf(refusal: MoveRefusal, operation: Operation): FieldError {
  const { reason, currency } = refusal
  if (reason === 'currency-mismatch') return { field: 'currency', message: `must be ${currency}`, code: 'MISMATCH' }
  if (reason === 'limit-exceeded') {
    const message = `Can ${operation} at most ${formatMoney(currency, refusal.possible)}`
    return { field: 'amount', message, code: 'LIMIT_EXCEEDED' }
  }
  return { field: 'body', message: 'the trail of the transaction is full', code: 'LIMIT_EXCEEDED' }
}
