import { z } from 'zod'
import type { Factor } from './factor.ts'

/** A set of recovery codes with its codes, which are shown this once (reference: Recovery codes). */
export const recoveryCodesSchema = z.object({
  id: z.guid(),
  type: z.literal('recovery_code'),
  friendly_name: z.string(),
  total: z.int(),
  codes: z.array(z.string()),
})

export function toRecoveryCodesView({
  factor,
  codes,
}: {
  readonly factor: Factor
  readonly codes: readonly string[]
}): z.output<typeof recoveryCodesSchema> {
  const { id, friendlyName } = factor
  return { id, type: 'recovery_code', friendly_name: friendlyName ?? '', total: codes.length, codes: [...codes] }
}
