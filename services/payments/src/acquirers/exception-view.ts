import { z } from 'zod'
import type { OperatedException } from './operator-exception-repository.ts'

/** The members that all payloads have. */
const Payload = z.looseObject({ acquirer: z.string().nullish(), type: z.string().optional() })

/** An exception in an answer to an operator (console reference: Routes of payments). */
export const ExceptionView = z.object({
  merchantId: z.string(),
  id: z.string(),
  created: z.iso.datetime(),
  acquirer: z.string().optional(),
  kind: z.string().describe('What the answer of the acquirer was about'),
  payload: z.record(z.string(), z.unknown()).describe('Without card data'),
  resolved: z.iso.datetime().optional(),
})

/** The JSON of an exception. JSON leaves out undefined fields. */
export function viewException({
  merchantId,
  id,
  created,
  payload,
  resolved,
}: OperatedException): z.infer<typeof ExceptionView> {
  const parsed = Payload.parse(payload)
  return {
    merchantId,
    id,
    created: created.toISOString(),
    acquirer: parsed.acquirer ?? undefined,
    kind: parsed.type ?? 'event',
    payload: parsed,
    resolved: resolved?.toISOString(),
  }
}
