import { z } from 'zod'
import { FIELD_TEXTS, fieldText, IMPORT_TEXTS } from '../field-errors.ts'
import { SUBJECT_LENGTH_MAX } from '../identities/external-account.ts'
import type { Identity } from '../identities/identity.ts'
import { NIL_UUID, parseId } from '../records/ids.ts'
import { parseJson } from '../requests/parse-json.ts'
import { Metadata } from './metadata.ts'
import type { UserWithIdentities } from './user-list-repository.ts'

const Uuid = z
  .string()
  .refine((id) => parseId(id) !== undefined, { error: FIELD_TEXTS.uuid })
  .refine((id) => id !== NIL_UUID, { error: FIELD_TEXTS.nilUuid })
  .transform((id) => id.toLowerCase())
const Time = z
  .string({ error: FIELD_TEXTS.time })
  .transform(toRfc3339)
  .pipe(z.iso.datetime({ offset: true, error: FIELD_TEXTS.time }))
  // PostgreSQL knows no year 0, and no offset of 16 hours.
  .refine((text) => /^(?!0000)/.test(text) && /(Z|[+-](0\d|1[0-5]):\d\d)$/.test(text), { error: FIELD_TEXTS.time })
/** A flag, or the text of one, as psql and files of CSV have it. */
const Flag = z.union([z.boolean(), z.enum(['t', 'true', 'f', 'false']).transform((text) => text.startsWith('t'))], {
  error: FIELD_TEXTS.notBoolean,
})
const Name = z.string().trim().min(1).max(255)

/** A subject as the provider writes it, and as long as a sign-in takes it: `admin ` and `admin` are two accounts. */
const Subject = z.string().min(1).max(SUBJECT_LENGTH_MAX)

const IdentityEntry = z.object({
  provider: Name,
  provider_id: Subject.nullish(),
  id: Subject.nullish(),
  identity_data: Metadata.nullish(),
  last_sign_in_at: Time.nullish(),
  created_at: Time.nullish(),
  updated_at: Time.nullish(),
})

/** One line of `users import|export`: the user record of the API, with the password's hash. */
const UserLine = z.object({
  id: Uuid.optional(),
  aud: Name.optional(),
  role: Name.optional(),
  email: z.string().optional(),
  phone: z.string().optional(),
  password_hash: z.string().optional(),
  email_confirm: Flag.optional(),
  phone_confirm: Flag.optional(),
  email_confirmed_at: Time.optional(),
  phone_confirmed_at: Time.optional(),
  invited_at: Time.optional(),
  confirmation_sent_at: Time.optional(),
  recovery_sent_at: Time.optional(),
  last_sign_in_at: Time.optional(),
  app_metadata: Metadata.optional(),
  user_metadata: Metadata.optional(),
  identities: z.array(IdentityEntry).max(100).optional(),
  banned_until: Time.optional(),
  is_anonymous: Flag.optional(),
  is_sso_user: Flag.optional(),
  claimed_at: Time.optional(),
  created_at: Time.optional(),
  updated_at: Time.optional(),
})

/** A valid line of an import, without the members that are absent. */
export type UserLine = z.output<typeof UserLine>

/** An identity of a line. `provider_id` is the id of the account at the provider. */
export type IdentityLine = z.output<typeof IdentityEntry>

/** The columns of supabase/auth's table that hold the same values. */
const OTHER_NAMES: Readonly<Record<string, keyof UserLine>> = {
  encrypted_password: 'password_hash',
  raw_app_meta_data: 'app_metadata',
  raw_user_meta_data: 'user_metadata',
}

/** A valid line, and the names of its unknown members. */
export interface ReadUserLine {
  readonly line: UserLine
  readonly ignored: readonly string[]
}

/**
 * Parses a line. A member that is null or empty counts as absent.
 * @throws what `parseJson` throws, or Error with the reason, also for a user who was deleted
 */
export function readUserLine(text: string): ReadUserLine {
  const entries = Object.entries(parseJson(text) ?? {}).filter(([, value]) => value !== '')
  const members = Object.fromEntries(entries.map(([key, value]) => [OTHER_NAMES[key] ?? key, value]))
  // Otherwise an import would bring back users who were out.
  if (members.deleted_at !== undefined) throw new Error(IMPORT_TEXTS.deleted)
  const { data, error } = UserLine.safeParse(members)
  const [issue] = error?.issues ?? []
  const field = issue?.path.join('.') ?? ''
  if (data === undefined) throw new Error(IMPORT_TEXTS.memberInvalid({ field, problem: fieldText(issue) }))
  const ignored = Object.keys(members).filter((key) => !Object.hasOwn(UserLine.shape, key))
  return { line: data, ignored }
}

/** A time as PostgreSQL shows it, such as `2024-01-01 10:00:00+00`, in the form of RFC 3339. Another text stays as it is. */
function toRfc3339(text: string): string {
  return text.replace(
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(?:(Z)|([+-]\d\d)(?::?(\d\d))?)$/,
    (_time, ...parts) => {
      const [date, time, utc, hours, minutes = '00'] = parts
      return `${date}T${time}${utc ?? `${hours}:${minutes}`}`
    },
  )
}

/** Formats a user as a line, without the times of events that have not happened. */
export function writeUserLine({ user, claimedAt, identities }: UserWithIdentities): string {
  const line: { readonly [Name in keyof UserLine]: unknown } = {
    id: user.id,
    aud: user.audience,
    role: user.role,
    email: user.emailAsWritten,
    phone: user.phone,
    password_hash: user.passwordHash,
    email_confirmed_at: user.emailConfirmedAt,
    phone_confirmed_at: user.phoneConfirmedAt,
    invited_at: user.invitedAt,
    confirmation_sent_at: user.confirmationSentAt,
    recovery_sent_at: user.recoverySentAt,
    last_sign_in_at: user.lastSignInAt,
    app_metadata: user.appMetadata,
    user_metadata: user.userMetadata,
    identities: identities.map(toIdentityLine),
    banned_until: user.bannedUntil,
    is_anonymous: user.isAnonymous,
    is_sso_user: user.isSsoUser,
    claimed_at: claimedAt,
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  }
  return JSON.stringify(withoutNulls(line))
}

function toIdentityLine(identity: Identity): object {
  return withoutNulls({
    provider: identity.provider,
    provider_id: identity.providerId,
    identity_data: identity.data,
    last_sign_in_at: identity.lastSignInAt,
    created_at: identity.createdAt,
    updated_at: identity.updatedAt,
  })
}

/** Nulls inside metadata stay, since they are the user's own. */
function withoutNulls(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}
