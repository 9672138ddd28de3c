import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, text } from '@trestle/common/config/setting.ts'
import { z } from 'zod'
import { sameSetting } from './rules.ts'

/** What an operator's own server can be asked, or told (contract 7.14). */
export const HOOKS = [
  'CUSTOM_ACCESS_TOKEN',
  'SEND_EMAIL',
  'SEND_SMS',
  'MFA_VERIFICATION_ATTEMPT',
  'PASSWORD_VERIFICATION_ATTEMPT',
  'BEFORE_USER_CREATED',
  'AFTER_USER_CREATED',
] as const

export type HookName = (typeof HOOKS)[number]

/** Where a hook is, and the keys that sign what it is sent: the newest first, and those that it may still know. */
export interface HookConfig {
  readonly url: string
  readonly keys: readonly Buffer[]
}

export type HooksConfig = Readonly<Partial<Record<HookName, HookConfig>>>

/** Contract 1.6, hooks. */
export const hookSettings = {
  ...sameSetting(
    HOOKS.map((name) => `HOOK_${name}_ENABLED` as const),
    flag().default(false),
  ),
  ...sameSetting(
    HOOKS.map((name) => `HOOK_${name}_URI` as const),
    hookUrl().optional(),
  ),
  ...sameSetting(
    HOOKS.map((name) => `HOOK_${name}_SECRETS` as const),
    hookKeys().optional(),
  ),
} as const

type Values = SettingValues<typeof hookSettings>

/** The hooks that are on. */
export function toHooksConfig(values: Values): HooksConfig {
  const hooks = HOOKS.flatMap((name) => {
    const [url, keys] = [values[`HOOK_${name}_URI`], values[`HOOK_${name}_SECRETS`]]
    return values[`HOOK_${name}_ENABLED`] && url !== undefined && keys ? [[name, { url, keys }] as const] : []
  })
  return Object.fromEntries(hooks)
}

export const hookRules: readonly Rule<Values>[] = HOOKS.flatMap((name) =>
  (['URI', 'SECRETS'] as const).map(
    (part) => (values: Values) =>
      values[`HOOK_${name}_ENABLED`] && values[`HOOK_${name}_${part}`] === undefined
        ? `AUTH_HOOK_${name}_${part} is required when AUTH_HOOK_${name}_ENABLED is true`
        : undefined,
  ),
)

const LOCAL = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Codes, tokens and claims go there: in the clear only within the own machine. */
function hookUrl(): z.ZodType<string, string> {
  return z.string().refine(isHookUrl, { error: 'must be an https:// URL, or http:// at localhost' })
}

function isHookUrl(value: string): boolean {
  const url = URL.parse(value)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL.test(url.hostname))
}

/** The form of Standard Webhooks: `v1,whsec_<base64>`, several joined by `|`. */
function hookKeys(): z.ZodType<readonly Buffer[], string> {
  return text()
    .meta({ secret: true })
    .transform((value, context) => {
      const keys = value.split('|').map((part) => /^v1,whsec_([A-Za-z0-9+/]{32,}={0,2})$/.exec(part.trim())?.[1])
      if (keys.every((key) => key !== undefined)) return keys.map((key) => Buffer.from(key, 'base64'))
      context.addIssue({
        code: 'custom',
        message: 'must be v1,whsec_ and base64 of at least 24 bytes; several joined by |',
      })
      return z.NEVER
    })
}
