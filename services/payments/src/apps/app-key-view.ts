import { z } from 'zod'
import type { AppKey } from './app-key.ts'

/** A new key, once: no other answer ever carries it. */
export const CreatedKeyView = z.object({ id: z.string(), key: z.string(), created: z.iso.datetime() })

/** A key as its app sees it later. */
export const AppKeyView = z.object({
  id: z.string(),
  keyHint: z.string(),
  scopes: z.array(z.string()).optional(),
  expires: z.iso.datetime().optional(),
  lastUsed: z.iso.datetime().optional(),
  created: z.iso.datetime(),
})

/** Fills the view of a key. */
export function viewAppKey({ id, hint, scopes, expires, lastUsed, created }: AppKey): z.infer<typeof AppKeyView> {
  return {
    id,
    keyHint: hint,
    ...(scopes === null ? {} : { scopes: [...scopes] }),
    ...(expires === null ? {} : { expires: expires.toISOString() }),
    ...(lastUsed === null ? {} : { lastUsed: lastUsed.toISOString() }),
    created: created.toISOString(),
  }
}
