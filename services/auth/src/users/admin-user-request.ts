import { parseDuration } from '@trestle/common/config/duration.ts'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import {
  type Cursor,
  type Page,
  type PageRules,
  parseCursor,
  parsePage,
  parsePerPage,
} from '../pagination/page-query.ts'
import { requireNewId } from '../records/ids.ts'
import { audienceTooLong, banDurationMalformed, newUserIdOther, roleTooLong, sortMalformed } from '../request-errors.ts'
import { ABSENT_TEXT, emailField, passwordField, phoneField, requireEmail, withTexts } from '../requests/fields.ts'
import { Metadata, type MetadataRules, requireMetadata } from './metadata.ts'
import type { UserChanges } from './user.ts'

/** The longest audience that fits into the index of user lists. */
const AUDIENCE_LENGTH_MAX = 255

export function requireAudience(audience: string): string {
  if (audience.length <= AUDIENCE_LENGTH_MAX) return audience
  throw audienceTooLong({ max: AUDIENCE_LENGTH_MAX })
}

const ROLE_LENGTH_MAX = 255

const UUID_PATTERN = '[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}'
const ARGON2_PATTERN =
  '^[$]argon2id?[$]v=19[$]m=[1-9][0-9]{0,5},t=[1-9][0-9]{0,5},p=[1-9][0-9]{0,2}([$][A-Za-z0-9+/]{11,172}){2}$'
const BCRYPT_PATTERN = '^[$]2[aby][$](0[4-9]|1[0-4])[$][./A-Za-z0-9]{53}$'
/** A part of a Go duration, such as `1.5h`. */
const DURATION_PART = '([0-9]{1,6}([.][0-9]{0,6})?|[.][0-9]{1,6})(ns|us|µs|μs|ms|s|m|h)'

const AdminUserBody = z.object({
  id: z.string().optional().meta({ description: 'The id of a new user. A change does not read it' }),
  aud: z.string().optional().meta({ maxLength: AUDIENCE_LENGTH_MAX }),
  role: z.string().optional().meta({ maxLength: ROLE_LENGTH_MAX }),
  email: emailField,
  phone: phoneField,
  password: passwordField,
  password_hash: z
    .string()
    .optional()
    .meta({
      pattern: `^$|${ARGON2_PATTERN}|${BCRYPT_PATTERN}`,
      description: 'An argon2id, argon2i or bcrypt hash, in place of the password',
    }),
  email_confirm: z.boolean().optional(),
  phone_confirm: z.boolean().optional(),
  user_metadata: Metadata.optional(),
  app_metadata: Metadata.optional(),
  ban_duration: z
    .string()
    .optional()
    .meta({
      pattern: `^$|^none$|^[+-]?0$|^[+-]?(${DURATION_PART})+$`,
      example: '24h',
      description: 'How long the user is banned: a duration such as 24h, or none',
    }),
})
export const NewUserBody = AdminUserBody.extend({
  id: z
    .string()
    .optional()
    .meta({ pattern: `^$|^${UUID_PATTERN}$`, description: 'The id of the user, where the path has none' }),
}).meta({ anyOf: [withTexts(['email']), withTexts(['phone'])], not: withTexts(['password', 'password_hash']) })

export const ChangedUserBody = AdminUserBody.extend({
  password_hash: z
    .string()
    .optional()
    .meta({ ...ABSENT_TEXT, description: 'Only a new user may have one' }),
})

/** The duration of a ban from now on (reference: Bans). */
export const BanDuration = z
  .string()
  .refine((duration) => (parseBanDuration(duration) ?? 0) > 0, { error: FIELD_TEXTS.notBan })
  .meta({ pattern: `^[+]?(${DURATION_PART})+$`, example: '24h' })

/** The body with which an operator creates a user. Roles cannot be set here. */
export const NewUserByOperatorBody = NewUserBody.omit({ role: true, app_metadata: true }).meta({
  anyOf: [withTexts(['email']), withTexts(['phone'])],
  not: withTexts(['password', 'password_hash']),
})

/** The body with which an operator changes a user. Empty texts count as absent. */
export const ChangedUserByOperatorBody = z
  .object({ email: emailField, phone: phoneField, password: passwordField })
  .refine(({ email, phone, password }) => Boolean(email || phone || password), { error: FIELD_TEXTS.nothingChanged })
  .meta({ anyOf: [withTexts(['email']), withTexts(['phone']), withTexts(['password'])] })

/** The body of an admin's create and update (reference: Users made and changed by admins). Empty texts count as absent. */
export type AdminUserFields = z.output<typeof AdminUserBody>

/** The values that an admin sets. `undefined` members do not change. */
export interface AdminUser extends UserChanges {
  readonly audience: string | undefined
  readonly role: string | undefined
  /** Normalized. */
  readonly email: string | undefined
  /** As typed. The use case parses it. */
  readonly phone: string | undefined
  readonly password: string | undefined
  /** The hash from another system. Only for a new user. */
  readonly passwordHash: string | undefined
  readonly emailConfirm: boolean
  readonly phoneConfirm: boolean
  /** From now on, in milliseconds. 0 ends a ban. */
  readonly banMs: number | undefined
}

/** Returns the new user's id from the path or the body. If `undefined`, the service generates one. */
export function readNewUserId(inPath: string | undefined, inBody: string | undefined): string | undefined {
  const wanted = inPath ?? (inBody || undefined)
  if (wanted === undefined) return undefined
  const id = requireNewId(wanted)
  if (inBody && inBody.toLowerCase() !== id) throw newUserIdOther()
  return id
}

/** Checks and normalizes the fields of a new user by an admin. Empty texts count as absent. */
export function parseAdminUser(rules: MetadataRules, fields: AdminUserFields): AdminUser {
  const { email, phone, ban_duration: ban } = fields
  const banMs = ban ? parseBanDuration(ban) : undefined
  if (ban && banMs === undefined) throw banDurationMalformed({ duration: ban })
  return {
    audience: fields.aud ? requireAudience(fields.aud) : undefined,
    role: requireRole(fields.role?.trim() ?? '') || undefined,
    email: email ? requireEmail(email) : undefined,
    phone: phone || undefined,
    password: fields.password || undefined,
    passwordHash: fields.password_hash || undefined,
    emailConfirm: fields.email_confirm ?? false,
    phoneConfirm: fields.phone_confirm ?? false,
    userMetadata: fields.user_metadata && requireMetadata(rules, fields.user_metadata),
    appMetadata: fields.app_metadata && requireMetadata(rules, fields.app_metadata),
    banMs,
  }
}

/**
 * Checks and normalizes the fields of a change by an admin. The profile decides whether an empty password counts as absent, like
 * for a new user, or as weak (reference: Profiles).
 */
export function parseAdminChange(
  rules: MetadataRules & { readonly compatibility: Pick<CompatibilityOptions, 'treatEmptyPasswordAsWeak'> },
  fields: AdminUserFields,
): AdminUser {
  const wanted = parseAdminUser(rules, fields)
  return rules.compatibility.treatEmptyPasswordAsWeak && fields.password === '' ? { ...wanted, password: '' } : wanted
}

function requireRole(role: string): string {
  if (role.length <= ROLE_LENGTH_MAX) return role
  throw roleTooLong({ max: ROLE_LENGTH_MAX })
}

/** The longest Go duration: 292 years, in milliseconds. */
const DURATION_MS_MAX = Number(2n ** 63n - 1n) / 1e6

/**
 * Returns a ban in milliseconds from a Go duration, `0` or `none` (reference: Bans). 0 ends a ban, and a negative duration has
 * already ended. Returns `undefined` for any other text. Unlike in settings, a number without a unit is not a duration.
 */
export function parseBanDuration(text: string): number | undefined {
  if (text === 'none') return 0
  const unsigned = text.replace(/^[+-]/, '')
  if (unsigned === '0') return 0
  const ms = /[a-zµμ]$/.test(unsigned) ? parseDuration(unsigned) : undefined
  if (ms === undefined || ms > DURATION_MS_MAX) return undefined
  return text.startsWith('-') && ms !== 0 ? -ms : ms
}

/** The unchecked query of `GET /admin/users`. */
interface UserListFields {
  readonly page?: string | undefined
  readonly per_page?: string | undefined
  readonly cursor?: string | undefined
  readonly filter?: string | undefined
  readonly sort?: string | undefined
}

/** A page of the list: by number with a total, or by cursor without a total. */
export type UserListRequest = {
  readonly filter: string | undefined
  readonly direction: 'asc' | 'desc'
  readonly perPage: number
} & (
  | ({ readonly form: 'page' } & Page)
  /** `undefined` for the first page. */
  | { readonly form: 'cursor'; readonly after: Cursor | undefined }
)

/**
 * Parses the query of a list of users (reference: Lists of users).
 * @param form `cursor` if the query has the parameter `cursor`, even an empty one
 * @param rules for pages by number
 */
export function parseUserList(
  fields: UserListFields,
  form: UserListRequest['form'],
  rules?: PageRules,
): UserListRequest {
  const list = { filter: fields.filter, direction: parseSort(fields.sort) }
  if (form === 'page') return { ...list, form, ...parsePage(fields, rules) }
  const after = fields.cursor === undefined ? undefined : parseCursor(fields.cursor)
  return { ...list, form, perPage: parsePerPage(fields), after }
}

function parseSort(sort: string | undefined): 'asc' | 'desc' {
  const direction = /^created_at(?: (asc|desc))?$/i.exec(sort ?? 'created_at')
  if (direction === null) throw sortMalformed({ sort })
  return direction[1]?.toLowerCase() === 'asc' ? 'asc' : 'desc'
}
