import { z } from 'zod'

/** The settings of auth, without a secret (console reference: Settings of auth). */
export const AuthSettings = z.object({
  profile: z.string(),
  providers: z.array(z.looseObject({ name: z.string(), enabled: z.boolean(), client_id: z.string().optional() })),
  custom_providers: z.array(
    z.looseObject({
      identifier: z.string(),
      name: z.string(),
      provider_type: z.string(),
      enabled: z.boolean(),
      client_id: z.string(),
    }),
  ),
  hooks: z.array(z.looseObject({ name: z.string(), enabled: z.boolean(), host: z.string().optional() })),
  limits: z.array(z.looseObject({ name: z.string(), value: z.number().nullable(), per_seconds: z.number() })),
  mail: z.looseObject({ host: z.string().optional(), from: z.string().optional() }),
  sms: z.looseObject({ provider: z.string().optional() }),
  /** Missing where auth is of an earlier release. */
  warnings: z.array(z.string()).default([]),
})
export type AuthSettings = z.infer<typeof AuthSettings>

const SigningKey = z.looseObject({
  kid: z.string(),
  algorithm: z.string(),
  state: z.enum(['next', 'active', 'retired', 'over']),
  created_at: z.string(),
})
/** A key that signs access tokens, without its private half. */
export type SigningKey = z.infer<typeof SigningKey>
/** All signing keys, the newest first. */
export const SigningKeysView = z.object({ keys: z.array(SigningKey) })

/** The path of the settings of auth. */
export const SETTINGS_PATH = '/settings'
/** The path of the list of signing keys. */
export const KEYS_PATH = '/signing-keys'
/** The pages of settings. */
export const SETTINGS_PAGES = [
  [SETTINGS_PATH, 'Providers, hooks, limits'],
  [KEYS_PATH, 'Signing keys'],
] as const
