import { z } from 'zod'

/** Bytes that a request to the vault may have. */
export const VAULT_BODY_BYTES = 4_096

/** What is put into the vault: the number of a card or its security code. Check digits are judged when it is used. */
export const VaultBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('pcn'), value: z.string().regex(/^\d{10,19}$/) }),
  z.object({ type: z.literal('pcsc'), value: z.string().regex(/^\d{3}$/) }),
])

/** A token in place of it. */
export const VaultToken = z.object({ token: z.string() })
