import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, parsed } from '@trestle/common/config/setting.ts'
import { family, group } from '@trestle/common/config/setting-description.ts'
import type { z } from 'zod'

/** The hooks: signed calls to a server of the operator (reference: Hooks). */
const HOOKS = {
  CUSTOM_ACCESS_TOKEN: 'writes the claims of access tokens',
  SEND_EMAIL: 'sends mails, in place of the mail server',
  SEND_SMS: 'sends SMS, in place of a gateway',
  MFA_VERIFICATION_ATTEMPT: 'judges checks of second factors',
  PASSWORD_VERIFICATION_ATTEMPT: 'judges checks of passwords',
  BEFORE_USER_CREATED: 'may refuse new users',
  AFTER_USER_CREATED: 'receives new users',
} as const

/** The name of a hook, as in AUTH_HOOK_<name>_URI (reference: Hooks). */
export type HookName = keyof typeof HOOKS

/** The names of all hooks. TypeScript gives `Object.keys` the type `string[]`. */
export const HOOK_NAMES: readonly HookName[] = Object.keys(HOOKS) as HookName[]

/** The URL of a hook, and the keys that sign its messages, newest first. The hook may still use older keys. */
export interface HookConfig {
  readonly url: string
  readonly keys: readonly Buffer[]
}

/** The enabled hooks. A disabled hook is absent. */
export type HooksConfig = Readonly<Partial<Record<HookName, HookConfig>>>

export const hookSettings = group(
  { title: 'Hooks', about: 'The service sends signed HTTP calls to a server of your own.' },
  family(HOOKS, {
    'HOOK_<HOOK>_ENABLED': flag().prefault('false').describe('Call this hook.'),
    'HOOK_<HOOK>_URI': hookUrl().optional().describe('Where the hook is. Required with the switch.'),
    'HOOK_<HOOK>_SECRETS': hookKeys()
      .optional()
      .describe('Keys that sign what the hook is sent, the newest first. Required with the switch.'),
  }),
)

type HookValues = SettingValues<typeof hookSettings>

/** Returns the settings of the enabled hooks. */
export function toHooksConfig(values: HookValues): HooksConfig {
  const hooks = HOOK_NAMES.flatMap((name) => {
    const [url, keys] = [values[`HOOK_${name}_URI`], values[`HOOK_${name}_SECRETS`]]
    return values[`HOOK_${name}_ENABLED`] && url !== undefined && keys ? [[name, { url, keys }] as const] : []
  })
  return Object.fromEntries(hooks)
}

/** An enabled hook needs its URL and its keys. */
export const hookRules: readonly Rule<HookValues>[] = HOOK_NAMES.flatMap((name) =>
  (['URI', 'SECRETS'] as const).map(
    (part) => (values: HookValues) =>
      values[`HOOK_${name}_ENABLED`] && values[`HOOK_${name}_${part}`] === undefined
        ? `AUTH_HOOK_${name}_${part} is required when AUTH_HOOK_${name}_ENABLED is true`
        : undefined,
  ),
)

const LOCAL = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** A hook receives codes, tokens and claims, so http is allowed only within the machine. */
function hookUrl(): z.ZodType<string, string> {
  const allowed = 'https://, or http:// at localhost'
  const problem = 'must be an https:// URL, or http:// at localhost, not a function in the database'
  return parsed({ form: 'URL', allowed, problem }, (value) => (isHookUrl(value) ? value : undefined))
}

function isHookUrl(value: string): boolean {
  const url = URL.parse(value)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL.test(url.hostname))
}

/** Keys in the form of Standard Webhooks: `v1,whsec_<base64>`, separated by `|`. */
function hookKeys(): z.ZodType<readonly Buffer[], string> {
  const problem = 'must be v1,whsec_ and base64 of at least 24 bytes; several joined by |'
  return parsed({ form: '`v1,whsec_<base64>`, several joined by `|`', secret: true, problem }, (value) => {
    const keys = value.split('|').map((part) => /^v1,whsec_([A-Za-z0-9+/]{32,}={0,2})$/.exec(part.trim())?.[1])
    return keys.every((key) => key !== undefined) ? keys.map((key) => Buffer.from(key, 'base64')) : undefined
  })
}
