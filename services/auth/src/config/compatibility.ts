import {
  keptSignInDifferences,
  keptSignUpDifferences,
  keptUserDifferences,
  sessionOptions,
  signInOptions,
  signUpOptions,
  userOptions,
} from './compatibility/accounts.ts'
import type { Choice, CompatibilityOption, KeptDifference, OptionRows } from './compatibility/option.ts'
import { keptProviderDifferences, providerOptions } from './compatibility/providers.ts'
import {
  hookOptions,
  keptHookDifferences,
  keptMessageDifferences,
  keptRequestDifferences,
  messageOptions,
  operationOptions,
  requestOptions,
} from './compatibility/requests.ts'

/** The profiles (reference: Profiles). */
export const PROFILES = ['compatible', 'strict', 'supabase'] as const

/** Decides the behaviour in cases where the reference, security and supabase/auth contradict each other. */
export type CompatibilityProfile = (typeof PROFILES)[number]

/**
 * All options in which the profiles differ, from the files of `compatibility/`, one file per subject. The code reads
 * `config.compatibility`, never the name of the profile. The limits of the strict profile are in profile.ts.
 */
export const COMPATIBILITY_OPTIONS = {
  ...signUpOptions,
  ...signInOptions,
  ...sessionOptions,
  ...userOptions,
  ...messageOptions,
  ...hookOptions,
  ...providerOptions,
  ...requestOptions,
  ...operationOptions,
} as const satisfies OptionRows

/** The options in groups, by the headings of the documents. */
export const OPTIONS_BY_SUBJECT: Readonly<Record<string, OptionRows>> = {
  'Sign-ups': signUpOptions,
  'Sign-ins': signInOptions,
  'Sessions and tokens': sessionOptions,
  Users: userOptions,
  'Mails and SMS': messageOptions,
  Hooks: hookOptions,
  Providers: providerOptions,
  'Requests and redirects': requestOptions,
  Operation: operationOptions,
}

type Table = typeof COMPATIBILITY_OPTIONS

export type OptionName = keyof Table

/** The value of each option in the profile of the service. */
export type CompatibilityOptions = {
  readonly [Name in OptionName]: Extract<Table[Name][keyof Table[Name]], Choice>['value']
}

/** A setting whose default depends on the profile. A given value takes precedence. Defaults are written as in the environment. */
interface SettingDefault {
  readonly compatible: string
  readonly supabase: string
  readonly reason: string
}

/** The settings whose default differs in the profile supabase, by name without `AUTH_`. */
export const SETTING_DEFAULTS = {
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: {
    compatible: 'false',
    supabase: 'true',
    reason:
      'Every call whose session is gone is answered 403 `session_not_found`, so a client notices a sign-out elsewhere.',
  },
  SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: {
    compatible: '10s',
    supabase: '0s',
    reason: 'The parent of the newest token needs no interval.',
  },
  SMTP_MAX_FREQUENCY: {
    compatible: '900s',
    supabase: '60s',
    reason: 'Of confirmations. All other mails have 60 s in both profiles. Applications count the seconds on a button.',
  },
  PASSWORD_HASH: {
    compatible: 'argon2id',
    supabase: 'bcrypt',
    reason: 'Functions compare `encrypted_password` with `crypt()`, which knows bcrypt alone.',
  },
  CUSTOM_OAUTH_ENABLED: {
    compatible: 'false',
    supabase: 'true',
    reason: 'Programs set their providers up without a further setting.',
  },
  ANONYMOUS_USER_RETENTION: {
    compatible: '720h',
    supabase: 'off',
    reason: 'supabase/auth deletes none by default, and rows of applications may go with a user.',
  },
  AUDIT_LOG_RETENTION: {
    compatible: '8760h',
    supabase: 'off',
    reason: 'supabase/auth deletes no entry. Those that a move carries over may be older than a year.',
  },
} as const satisfies Readonly<Record<string, SettingDefault>>

/** Differences from supabase/auth that exist in every profile. */
export const KEPT_DIFFERENCES: readonly KeptDifference[] = [
  ...keptSignUpDifferences,
  ...keptSignInDifferences,
  ...keptUserDifferences,
  ...keptMessageDifferences,
  ...keptHookDifferences,
  ...keptProviderDifferences,
  ...keptRequestDifferences,
]

export function compatibilityOf(profile: CompatibilityProfile): CompatibilityOptions {
  const values = Object.entries<CompatibilityOption>(COMPATIBILITY_OPTIONS).map(([name, row]) => [
    name,
    (row[profile] ?? row.compatible).value,
  ])
  // The cast is safe, because the names come from the table, so each has a value.
  return Object.fromEntries(values) as CompatibilityOptions
}
