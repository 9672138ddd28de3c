import {
  keptSignInBehaviours,
  keptSignUpBehaviours,
  keptUserBehaviours,
  sessionBehaviours,
  signInBehaviours,
  signUpBehaviours,
  userBehaviours,
} from './behaviours/accounts.ts'
import type { Behaviour, BehaviourRows, Choice, KeptBehaviour } from './behaviours/behaviour.ts'
import { keptProviderBehaviours, providerBehaviours } from './behaviours/providers.ts'
import {
  hookBehaviours,
  keptHookBehaviours,
  keptMessageBehaviours,
  keptRequestBehaviours,
  messageBehaviours,
  operationBehaviours,
  requestBehaviours,
} from './behaviours/requests.ts'

/** The profiles, which exclude each other (reference: Profiles). */
export const PROFILES = ['compatible', 'strict', 'supabase'] as const

/** How the service behaves where its reference, caution and supabase/auth disagree. */
export type BehaviourProfile = (typeof PROFILES)[number]

/**
 * Every behaviour in which the profiles differ, from the files of `behaviours/`, one for each subject. The code asks
 * `config.behaviours`, never for the name of the profile. The limits of the strict profile are in profile.ts.
 */
export const BEHAVIOURS = {
  ...signUpBehaviours,
  ...signInBehaviours,
  ...sessionBehaviours,
  ...userBehaviours,
  ...messageBehaviours,
  ...hookBehaviours,
  ...providerBehaviours,
  ...requestBehaviours,
  ...operationBehaviours,
} as const satisfies BehaviourRows

/** The behaviours of `BEHAVIOURS` in parts, by the headings that documents give them. */
export const BEHAVIOURS_BY_SUBJECT: Readonly<Record<string, BehaviourRows>> = {
  'Sign-ups': signUpBehaviours,
  'Sign-ins': signInBehaviours,
  'Sessions and tokens': sessionBehaviours,
  Users: userBehaviours,
  'Mails and SMS': messageBehaviours,
  Hooks: hookBehaviours,
  Providers: providerBehaviours,
  'Requests and redirects': requestBehaviours,
  Operation: operationBehaviours,
}

type Table = typeof BEHAVIOURS

export type BehaviourName = keyof Table

/** The value of each behaviour, as the profile of a service has it. */
export type Behaviours = {
  readonly [Name in BehaviourName]: Extract<Table[Name][keyof Table[Name]], Choice>['value']
}

/** A setting whose default depends on the profile. An explicit value wins. Defaults are written as in the environment. */
interface SettingDefault {
  readonly compatible: string
  readonly supabase: string
  readonly reason: string
}

/** The settings whose default differs in the profile supabase, by their names without `AUTH_`. */
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

/** The behaviours that are the same in every profile, although supabase/auth behaves otherwise. */
export const KEPT_BEHAVIOURS: readonly KeptBehaviour[] = [
  ...keptSignUpBehaviours,
  ...keptSignInBehaviours,
  ...keptUserBehaviours,
  ...keptMessageBehaviours,
  ...keptHookBehaviours,
  ...keptProviderBehaviours,
  ...keptRequestBehaviours,
]

export function behavioursOf(profile: BehaviourProfile): Behaviours {
  const values = Object.entries<Behaviour>(BEHAVIOURS).map(([name, row]) => [
    name,
    (row[profile] ?? row.compatible).value,
  ])
  // `Behaviours` takes its names from the table, so no name is without a value.
  return Object.fromEntries(values) as Behaviours
}
