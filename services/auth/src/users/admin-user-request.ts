import { parseDuration } from '@trestle/common/config/setting.ts'
import { banDurationMalformed, roleTooLong } from '../request-errors.ts'
import { requireEmail, requirePhone } from '../requests/identifier.ts'
import { requireAudience } from './audience.ts'
import { requireMetadata } from './metadata.ts'

const ROLE_LENGTH_MAX = 255

/**
 * The body of an admin's create and update (reference: Users made and changed by admins). Empty texts count as absent.
 */
export interface AdminUserFields {
  readonly aud?: string | undefined
  readonly role?: string | undefined
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly password?: string | undefined
  readonly password_hash?: string | undefined
  readonly email_confirm?: boolean | undefined
  readonly phone_confirm?: boolean | undefined
  readonly user_metadata?: Readonly<Record<string, unknown>> | undefined
  readonly app_metadata?: Readonly<Record<string, unknown>> | undefined
  readonly ban_duration?: string | undefined
}

/** The values that an admin sets. Undefined members stay as they are. */
export interface AdminUser {
  readonly audience: string | undefined
  readonly role: string | undefined
  /** Normalised, as `phone`. */
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly password: string | undefined
  /** A hash that another system made. On create only. */
  readonly passwordHash: string | undefined
  readonly emailConfirm: boolean
  readonly phoneConfirm: boolean
  readonly userMetadata: Readonly<Record<string, unknown>> | undefined
  readonly appMetadata: Readonly<Record<string, unknown>> | undefined
  /** From now on; 0 ends a ban. */
  readonly banMs: number | undefined
}

/**
 * Checks and normalises each field.
 * @throws banDurationMalformed, roleTooLong, audienceTooLong, phoneMalformed, metadataTooLarge, emailMissing,
 * emailTooLong, emailMalformed
 */
export function parseAdminUser(fields: AdminUserFields): AdminUser {
  const { email, phone, ban_duration: ban } = fields
  const banMs = ban ? parseBanDuration(ban) : undefined
  if (ban && banMs === undefined) throw banDurationMalformed({ duration: ban })
  return {
    audience: fields.aud ? requireAudience(fields.aud) : undefined,
    role: requireRole(fields.role?.trim() ?? '') || undefined,
    email: email ? requireEmail(email) : undefined,
    phone: phone ? requirePhone(phone) : undefined,
    password: fields.password || undefined,
    passwordHash: fields.password_hash || undefined,
    emailConfirm: fields.email_confirm ?? false,
    phoneConfirm: fields.phone_confirm ?? false,
    userMetadata: fields.user_metadata && requireMetadata(fields.user_metadata),
    appMetadata: fields.app_metadata && requireMetadata(fields.app_metadata),
    banMs,
  }
}

/** @throws roleTooLong for a role that is longer than its column */
function requireRole(role: string): string {
  if (role.length <= ROLE_LENGTH_MAX) return role
  throw roleTooLong({ max: ROLE_LENGTH_MAX })
}

/** The longest Go duration: 292 years, in milliseconds. */
const DURATION_MS_MAX = Number(2n ** 63n - 1n) / 1e6

/**
 * Parses the ban that an admin asks for, in milliseconds: a Go duration, `0` or `none` (reference: Bans). 0 clears a ban, and a
 * negative ban has ended already. Undefined for any other text. Unlike in a setting, a number without a unit is no duration.
 */
export function parseBanDuration(text: string): number | undefined {
  if (text === 'none') return 0
  const unsigned = text.replace(/^[+-]/, '')
  if (unsigned === '0') return 0
  const ms = /[a-zµμ]$/.test(unsigned) ? parseDuration(unsigned) : undefined
  if (ms === undefined || ms > DURATION_MS_MAX) return undefined
  return text.startsWith('-') && ms !== 0 ? -ms : ms
}
