import { z } from 'zod'
import type { AppKey, Identity } from './app.ts'

/** A new app with its key. No other answer contains the key. */
export const CreatedAppView = z.object({ id: z.string(), name: z.string().optional(), key: z.string() })

/** The caller: an app, or a user with an email address (reference: Other objects). */
export const IdentityView = z.object({
  id: z.string(),
  name: z.string().optional(),
  email: z.string().optional(),
  created: z.iso.datetime(),
})

export function viewCreatedApp({ id, name, key }: CreatedApp): z.infer<typeof CreatedAppView> {
  return { id, ...(name === undefined ? {} : { name }), key }
}

/** The JSON of the caller. An app has no email address. */
export function viewIdentity({ id, name, email, created }: Identity): z.infer<typeof IdentityView> {
  return {
    id,
    ...(name === null ? {} : { name }),
    ...(email === null ? {} : { email }),
    created: created.toISOString(),
  }
}

export interface CreatedApp {
  readonly id: string
  readonly name: string | undefined
  readonly key: string
}

/** A new key. No other answer contains it. */
export const CreatedKeyView = z.object({ id: z.string(), key: z.string(), created: z.iso.datetime() })

export const AppKeyView = z
  .object({
    id: z.string(),
    keyHint: z.string(),
    scopes: z.array(z.string()).optional(),
    expires: z.iso.datetime().optional(),
    lastUsed: z.iso.datetime().optional(),
    created: z.iso.datetime(),
  })
  .meta({ id: 'Key' })

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
