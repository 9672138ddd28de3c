import { z } from 'zod'
import type { ExceptionForOperator } from './exception-repository.ts'

const Payload = z.looseObject({ acquirer: z.string().nullish(), type: z.string().optional() })

const HeldBackView = z.object({
  currency: z.string().describe('The currency of the merchant'),
  amount: z.int().optional().describe('Absent: the whole balance'),
})

/** An exception in an answer to an operator (console reference: Routes of payments). */
export const ExceptionView = z.object({
  merchantId: z.string(),
  id: z.string(),
  created: z.iso.datetime(),
  acquirer: z.string().optional(),
  kind: z.string().describe('What the answer of the acquirer was about'),
  payload: z.record(z.string(), z.unknown()).describe('Without card data'),
  heldBack: HeldBackView.optional().describe('What payouts hold back until the exception is resolved'),
  resolved: z.iso.datetime().optional(),
})

export function viewException(exception: ExceptionForOperator): z.infer<typeof ExceptionView> {
  const { merchantId, id, created, payload, resolved } = exception
  const parsed = Payload.parse(payload)
  return {
    merchantId,
    id,
    created: created.toISOString(),
    acquirer: parsed.acquirer ?? undefined,
    kind: parsed.type ?? 'event',
    payload: parsed,
    heldBack: viewHeldBack(exception),
    resolved: resolved?.toISOString(),
  }
}

/** Returns the money that payouts hold back until an exception is resolved. Returns `undefined` if payouts hold back nothing. */
export function viewHeldBack({
  reserved,
  currency,
}: Pick<ExceptionForOperator, 'reserved' | 'currency'>): z.infer<typeof HeldBackView> | undefined {
  if (reserved === 0n || currency === null) return undefined
  return { currency, amount: reserved === null ? undefined : Number(reserved) }
}
